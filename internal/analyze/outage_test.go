package analyze

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

// outagesOf are the outages of set in a phase from 0 to 10 s.
func outagesOf(t *testing.T, c result.Cell) []result.Outage {
	t.Helper()
	return summary(t, runOf("set"), whole(c)...).Outages
}

func both(a, b []uint64) []uint64 { return slices.Concat(a, b) }

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestOutageIsChargedToEveryOperationDue(t *testing.T) {
	// 100/s; nothing from 2 s to 7 s: 300 are refused, 200 not even sent.
	c := okCell("set", 1000, both(every(1, 0, 200), every(1, 700, 1000))...)
	c = fail(fail(c, "refused", every(1, 200, 500)...), "unsent", every(1, 500, 700)...)
	s := summary(t, runOf("set"), whole(c)...)
	if len(s.Outages) != 1 {
		t.Fatalf("outages are %+v, want one", s.Outages)
	}
	o := s.Outages[0]
	if !near(o.FromS, 2) || !near(o.ToS, 7) || !near(o.DurationS, 5) || o.Open || o.Op != "set" || o.Phase != "one" {
		t.Errorf("outage is %+v, want set from 2 to 7", o)
	}
	if !maps.Equal(o.Errors, map[string]uint64{"refused": 300}) || o.Unsent != 200 {
		t.Errorf("charged with %v and %d unsent, want 300 refused and 200 unsent", o.Errors, o.Unsent)
	}
	if op := s.Phases[0].Ops["set"]; op.Due != 1000 {
		t.Errorf("%d were due", op.Due)
	}
}

// TestOperationThatHungFromTheStartIsTheOutages: it was sent just before the
// service went away, in the bucket of the last success.
func TestOperationThatHungFromTheStartIsTheOutages(t *testing.T) {
	c := okCell("set", 1000, both(every(1, 0, 200), every(1, 700, 1000))...)
	c = fail(c, "timeout", 100, 199, 200, 650, 750)
	if o := outagesOf(t, c)[0]; o.Errors["timeout"] != 3 {
		t.Errorf("charged with %v, want the 3 due from 1.99 s to 7 s", o.Errors)
	}
}

func TestPhaseWithoutSuccessIsOneOutage(t *testing.T) {
	c := fail(result.Cell{Op: "set"}, "refused", every(1, 0, 1000)...)
	out := outagesOf(t, c)
	if len(out) != 1 || out[0].FromS != 0 || out[0].ToS != 10 || out[0].DurationS != 10 || !out[0].Open || out[0].Errors["refused"] != 1000 {
		t.Errorf("outages are %+v, want one over the whole phase", out)
	}
	// Not even a failure: every operation hangs.
	out = summary(t, runOf("set"), whole()...).Outages
	if len(out) != 1 || out[0].DurationS != 10 || !out[0].Open || out[0].Errors == nil {
		t.Errorf("outages without any operation are %+v", out)
	}
}

func TestOpenOutageReachesTheEndOfThePhase(t *testing.T) {
	// A success that was waited for after the end does not close it later than the end.
	out := outagesOf(t, fail(okCell("set", 1000, every(1, 0, 800)...), "clusterdown", every(1, 800, 1000)...))
	if len(out) != 1 || !near(out[0].FromS, 8) || out[0].ToS != 10 || !near(out[0].DurationS, 2) || !out[0].Open || out[0].Errors["clusterdown"] != 200 {
		t.Errorf("outages are %+v, want one from 8 to the end at 10", out)
	}
}

func TestOutageAtTheBeginningCountsFromTheBeginning(t *testing.T) {
	out := outagesOf(t, okCell("set", 1000, every(1, 300, 1000)...))
	if len(out) != 1 || out[0].FromS != 0 || !near(out[0].ToS, 3) || out[0].Open {
		t.Errorf("outages are %+v, want one from 0 to 3", out)
	}
}

func TestGapsUpToTheThresholdAreNoOutage(t *testing.T) {
	for _, tt := range []struct {
		name string
		gap  uint64 // buckets without a success, from 2 s on
		want int
	}{
		{"shorter", 99, 0}, {"just as long", 100, 0}, {"a bucket longer", 101, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// At many places, since fractions of a second are not exact.
			for at := uint64(200); at < 800; at += 7 {
				out := outagesOf(t, okCell("set", 1000, both(every(1, 0, at), every(1, at+tt.gap, 1000))...))
				if len(out) != tt.want {
					t.Errorf("gap of %d ms at %d0 ms: outages are %+v, want %d", tt.gap*10, at, out, tt.want)
				}
			}
		})
	}
}

func TestEveryGapIsAnOutageOfItsOwn(t *testing.T) {
	out := outagesOf(t, okCell("set", 1000, slices.Concat(every(1, 0, 200), every(1, 400, 401), every(1, 600, 1000))...))
	if len(out) != 2 || !near(out[0].ToS, 4) || !near(out[1].FromS, 4.01) {
		t.Errorf("outages are %+v, want two, parted by one success at 4.00 s", out)
	}
}

func TestRareOperationsAreNoOutage(t *testing.T) {
	run := runOf("set")
	run.Phases[0].DurationS = 300
	rare := func(cells ...result.Cell) []result.Interval {
		return []result.Interval{begin(0, 0, 300), interval(0, 0, 300, cells...), end(0, 0, 300, nil), last(300)}
	}
	// One every five seconds.
	if out := summary(t, run, rare(okCell("set", 1000, every(500, 0, 30_000)...))...).Outages; len(out) != 0 {
		t.Errorf("outages are %+v", out)
	}
	// But a minute without any is one.
	out := summary(t, run, rare(okCell("set", 1000, both(every(500, 0, 10_000), every(500, 16_000, 30_000))...))...).Outages
	if len(out) != 1 || !near(out[0].FromS, 95.01) || !near(out[0].ToS, 160) {
		t.Errorf("outages are %+v, want one from 95 to 160", out)
	}
}

func TestRareOperationsMayComeUnevenly(t *testing.T) {
	// Mostly after 1.5 s, now and then after 3.5 s: no gap is ten times as long as usual.
	if out := outagesOf(t, okCell("set", 1000, 0, 150, 300, 650, 800, 950)); len(out) != 0 {
		t.Errorf("outages are %+v", out)
	}
}

// TestOutageBetweenBurstsIsFound: operations that come many at a time are not
// rare, though the bursts are far apart.
func TestOutageBetweenBurstsIsFound(t *testing.T) {
	var at []uint64
	for _, b := range both(every(30, 0, 400), every(30, 600, 1000)) {
		at = append(at, b, b, b, b)
	}
	if out := outagesOf(t, okCell("set", 1000, at...)); len(out) != 1 || !near(out[0].ToS, 6) {
		t.Errorf("outages are %+v, want one until 6", out)
	}
}

// TestOutageIsFoundThoughMostOfTheRunIsOut: a mean gap would grow with the outage and hide it.
func TestOutageIsFoundThoughMostOfTheRunIsOut(t *testing.T) {
	out := outagesOf(t, okCell("set", 1000, both(every(10, 0, 100), every(10, 950, 1000))...))
	if len(out) != 1 || !near(out[0].FromS, 0.91) || !near(out[0].ToS, 9.5) {
		t.Errorf("outages are %+v, want one from 0.91 to 9.5", out)
	}
}

func TestDurationOfAnOutageIsWholeBuckets(t *testing.T) {
	out := outagesOf(t, okCell("set", 1000, both(every(1, 0, 112), every(1, 951, 1000))...))
	if len(out) != 1 || out[0].FromS != 1.12 || out[0].ToS != 9.51 || out[0].DurationS != 8.39 {
		t.Errorf("outages are %+v, want 8.39 s, not a fraction beside it", out)
	}
}

func TestOutagesMayLieAcrossAPhasesEnd(t *testing.T) {
	s := summary(t, runOf("set", "get"),
		begin(0, 0, 10), interval(0, 0, 10, okCell("set", 1, every(1, 0, 950)...), okCell("get", 1, both(every(1, 0, 200), every(1, 500, 1000))...)), end(0, 0, 10, nil),
		begin(1, 10, 20), interval(1, 10, 20, okCell("set", 1, every(1, 1060, 2000)...), okCell("get", 1, every(1, 1000, 2000)...)), end(1, 10, 20, nil),
		last(20))
	// Set: 0.5 s at the end of one and 0.6 s at the beginning of two are one gap.
	if len(s.Outages) != 2 || s.Outages[0].Op != "get" || s.Outages[1].Op != "set" || s.Outages[1].FromS != 9.5 || s.Outages[1].ToS != 10.6 {
		t.Errorf("outages are %+v, want one of get and one of set", s.Outages)
	}
}

// TestWhereNothingIsSentIsNoOutage: between phases, and in those without the operation.
func TestWhereNothingIsSentIsNoOutage(t *testing.T) {
	run := runOf("set")
	one := []result.Interval{begin(0, 0, 10), interval(0, 0, 10, okCell("set", 1, every(1, 0, 950)...)), end(0, 0, 10, nil)}
	two := []result.Interval{begin(1, 12, 22), interval(1, 12, 22, okCell("set", 1, every(1, 1230, 2200)...)), end(1, 12, 22, nil), last(22)}
	if out := summary(t, run, slices.Concat(one, two)...).Outages; len(out) != 0 {
		t.Errorf("0.8 s without success and 2 s without load: %+v", out)
	}
	run.Phases = append(run.Phases, run.Phases[1])
	run.Phases[1].Ops = []string{"get"}
	one[1] = interval(0, 0, 10, okCell("set", 1, every(1, 0, 800)...))
	rest := []result.Interval{
		begin(1, 10, 20), interval(1, 10, 20, okCell("get", 1, every(1, 1000, 2000)...)), end(1, 10, 20, nil),
		begin(2, 20, 30), interval(2, 20, 30, okCell("set", 1, every(1, 2000, 3000)...)), end(2, 20, 30, nil), last(30),
	}
	out := summary(t, run, slices.Concat(one, rest)...).Outages
	if len(out) != 1 || out[0].FromS != 8 || out[0].ToS != 10 || !out[0].Open {
		t.Errorf("outages are %+v, want one from 8 s to the end of the phase", out)
	}
}

// TestNothingIsKnownAfterTheEnd: of a run that was interrupted in its warm-up.
func TestNothingIsKnownAfterTheEnd(t *testing.T) {
	run := runOf("set")
	run.Command, run.Phases[0].WarmupS = "drill", 30
	warm := okCell("set", 1, every(1, 0, 200)...)
	warm.Warmup = true
	for name, lines := range map[string][]result.Interval{
		"interrupted": {begin(0, 30, 60), interval(0, 0, 2, warm), end(0, 30, 30, nil), last(40)},
		"killed":      {begin(0, 30, 60), interval(0, 0, 2, warm)},
	} {
		lines[0].FromS, lines[0].ToS = 0, 0
		if len(lines) > 2 {
			lines[2].FromS, lines[2].ToS = 2, 2
		}
		if out := summary(t, run, lines...).Outages; len(out) != 0 {
			t.Errorf("%s: outages are %+v", name, out)
		}
	}
}

// TestAnOutageGoesOnInTheNextPhase: what has not ended is not over because a phase is.
func TestAnOutageGoesOnInTheNextPhase(t *testing.T) {
	one := []result.Interval{begin(0, 0, 10), interval(0, 0, 10, fail(okCell("set", 1, every(1, 0, 800)...), "refused", 900)), end(0, 0, 10, nil)}
	for name, tt := range map[string]struct {
		two  result.Cell
		to   float64
		open bool
		n    uint64 // errors
	}{
		"ended late":    {fail(okCell("set", 1, every(1, 1500, 2200)...), "refused", 1300), 15, false, 2},
		"ended between": {okCell("set", 1, every(1, 1201, 2200)...), 12.01, false, 1},
		"never ended":   {fail(result.Cell{Op: "set"}, "refused", 1300), 22, true, 2},
	} {
		two := []result.Interval{begin(1, 12, 22), interval(1, 12, 22, tt.two), end(1, 12, 22, nil), last(22)}
		s := summary(t, runOf("set"), slices.Concat(one, two)...)
		if len(s.Outages) != 1 {
			t.Errorf("%s: outages are %+v", name, s.Outages)
			continue
		}
		o := s.Outages[0]
		if o.FromS != 8 || o.ToS != tt.to || !near(o.DurationS, tt.to-8) || o.Open != tt.open || o.Errors["refused"] != tt.n || o.Phase != "one" {
			t.Errorf("%s: outage is %+v", name, o)
		}
	}
}

// TestADrillsWarmupIsNotLeftOut: steps come when they come.
func TestADrillsWarmupIsNotLeftOut(t *testing.T) {
	warm := okCell("set", 1, every(1, 0, 200)...)
	warm.Warmup = true
	measured := okCell("set", 1, every(1, 500, 1000)...)
	run := runOf("set")
	run.Phases[0].WarmupS = 5
	lines := []result.Interval{begin(0, 5, 10), interval(0, 0, 5, fail(warm, "refused", 300)), interval(0, 5, 10, measured), end(0, 5, 10, nil), last(10)}
	if out := summary(t, run, lines...).Outages; len(out) != 0 {
		t.Errorf("load: outages are %+v", out)
	}
	run.Command = "drill"
	out := summary(t, run, lines...).Outages
	if len(out) != 1 || out[0].FromS != 2 || out[0].ToS != 5 || out[0].Errors["refused"] != 1 {
		t.Errorf("drill: outages are %+v", out)
	}
}

// TestWhatIsMissingIsNoOutage: an interval was not written.
func TestWhatIsMissingIsNoOutage(t *testing.T) {
	s := summary(t, runOf("set"), begin(0, 0, 10), interval(0, 0, 3, okCell("set", 1, every(1, 0, 300)...)),
		interval(0, 6, 10, okCell("set", 1, every(1, 600, 1000)...)), end(0, 0, 10, nil), last(10))
	if o := s.Outages[0]; !near(o.PausedS, 3) || !warned(s, "the intervals from 3.00 s to 6.00 s are missing") {
		t.Errorf("outage %+v, warnings %q", o, s.Warnings)
	}
}
