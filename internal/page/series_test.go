package page

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
)

func TestDownsampleKeepsMinimaAndMaxima(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		to := 1 + r.Float64()*5000
		var points []point
		least, greatest := math.Inf(1), math.Inf(-1)
		for at := 0.5; at < to; at++ {
			if r.IntN(10) == 0 {
				continue // not known
			}
			v := r.ExpFloat64() * 1000
			points, least, greatest = append(points, point{at, v}), min(least, v), max(greatest, v)
		}
		g := gridFor(to, 100)
		mean, lo, hi := downsample(points, g.step, g.n)
		gotLeast, gotGreatest := math.Inf(1), math.Inf(-1)
		for i := range mean {
			if math.IsNaN(mean[i]) {
				continue
			}
			if lo[i] > mean[i]+1e-9 || hi[i] < mean[i]-1e-9 {
				t.Fatalf("mean %g is not between %g and %g", mean[i], lo[i], hi[i])
			}
			gotLeast, gotGreatest = min(gotLeast, lo[i]), max(gotGreatest, hi[i])
		}
		if gotLeast != least || gotGreatest != greatest {
			t.Fatalf("extremes are %g and %g, want %g and %g", gotLeast, gotGreatest, least, greatest)
		}
	}
}

func TestStepWithoutAPointIsNotKnown(t *testing.T) {
	v, lo, hi := downsample([]point{{0.5, 3}, {2.5, 4}, {2.6, 6}}, 1, 3)
	text, err := json.Marshal([]Values{v, lo, hi})
	must(t, err)
	if want := "[[3,null,5],[3,null,4],[3,null,6]]"; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func TestValuesAreWrittenShort(t *testing.T) {
	for _, row := range []struct {
		v    float64
		want string
	}{
		{0, "0"}, {1, "1"}, {1.0 / 3, "0.33333"}, {9999.96, "10000"}, {123456, "123460"}, {7654321.5, "7654300"}, {math.NaN(), "null"}, {math.Inf(1), "null"}, {-12345678, "-12346000"},
	} {
		if got := string(appendShort(nil, row.v)); got != row.want {
			t.Errorf("%g is written %s, want %s", row.v, got, row.want)
		}
	}
}

func TestGridHasNoMorePointsThanAsked(t *testing.T) {
	for _, to := range []float64{0, 0.1, 60, 299, 301, 3600, 36000, 86400 * 31} {
		g := gridFor(to, maxPoints)
		if g.n > maxPoints || g.n < 1 || g.step*float64(g.n) < to {
			t.Errorf("the grid of %g s is %+v", to, g)
		}
	}
}

func TestRareOperationsHaveLongerSteps(t *testing.T) {
	for _, row := range []struct{ perS, want float64 }{{1000, 0.2}, {50, 0.5}, {1, 1}, {math.Inf(1), 0.2}} {
		if got := gridFor(60, maxPoints).forRates(row.perS); got.step != row.want || got.step*float64(got.n) < 60 {
			t.Errorf("%g a second are drawn on %+v, want steps of %g s", row.perS, got, row.want)
		}
	}
}

func TestEndsOfAPhaseAreNoDips(t *testing.T) {
	var o opSeen
	o.due.spread(0.05, 2.04)
	for bucket := uint64(5); bucket < 204; bucket++ {
		o.ok.add(bucket, 1000, 1)
	}
	for _, p := range o.rate(0.2) {
		if p.v < 95 || p.v > 105 {
			t.Errorf("at %g s there are %g a second, want about 100", p.at, p.v)
		}
	}
	if n := len(o.rate(0.2)); n != 10 {
		t.Errorf("%d steps have a rate, want 10: the last is not half due", n)
	}
}

func TestCountsBeyondTheEndAreKept(t *testing.T) {
	var c counts
	c.add(1<<60, 99, 3)
	if len(c) != 10 || c[9] != 3 {
		t.Errorf("got %v", c)
	}
}
