package page

import (
	"math"
	"strconv"
)

// Series is a line on a lane's grid. V are the values, or their means where a step
// holds several; Lo and Hi are then the least and greatest, else absent.
type Series struct {
	Name string `json:"name"`
	Look string `json:"look"`
	V    Values `json:"v"`
	Lo   Values `json:"lo,omitempty"`
	Hi   Values `json:"hi,omitempty"`
}

// Values are numbers of which some are not known: NaN here, null in JSON, where
// five significant digits are kept.
type Values []float64

// MarshalJSON writes the numbers as short as they may be.
func (v Values) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendShort(b, x)
	}
	return append(b, ']'), nil
}

func appendShort(b []byte, x float64) []byte {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return append(b, "null"...)
	case math.Abs(x) >= 10000 && math.Abs(x) < 1e15:
		unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-4)
		return strconv.AppendFloat(b, math.Round(x/unit)*unit, 'f', 0, 64)
	}
	return strconv.AppendFloat(b, x, 'g', 5, 64)
}

// point is a value at a time.
type point struct{ at, v float64 }

// during adds a value that holds from one offset to another: a point in the
// middle of each second in between, or one in its own middle.
func during(points []point, from, to, v float64) []point {
	const most = 60 // of a process that stood still: beyond, there is no line
	first := math.Ceil(from-0.5) + 0.5
	if first >= to {
		return append(points, point{(from + to) / 2, v})
	}
	for at, n := first, 0; at < to && n < most; at, n = at+1, n+1 {
		points = append(points, point{at, v})
	}
	return points
}

// grid is a number of steps from offset 0 on.
type grid struct {
	step float64 // seconds
	n    int
}

// maxPoints is how many points a series has at most, finestS the finest step.
const (
	maxPoints = 1500
	finestS   = 0.2
)

// steps are what a grid's step may be, so that it stays as a run goes on, and
// then changes to one that joins the old ones; 1 and above are whole seconds.
var steps = []float64{finestS, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800}

// gridFor is the finest grid that has no more than so many points up to an offset.
func gridFor(to float64, points int) grid {
	for _, s := range steps {
		if n := int(math.Ceil(to / s)); n <= points {
			return grid{s, max(n, 1)}
		}
	}
	s := steps[len(steps)-1]
	return grid{s, int(math.Ceil(to / s))}
}

// coarse is the grid of what is known by interval only: steps of a second, or of
// the interval where that is longer.
func (g grid) coarse(interval float64) grid {
	to := g.step * float64(g.n)
	for _, s := range steps {
		if s >= max(1, interval, g.step) {
			return grid{s, int(math.Ceil(to / s))}
		}
	}
	return g
}

// rateStep is the step that rates are made in before the extremes of them are
// kept: a second at most.
func (g grid) rateStep() float64 { return min(g.step, 1) }

// forRates is a grid whose steps hold so many operations of the slowest kind that
// their number does not jump about: of one a second, fifths of a second would all
// be 0 or 5.
func (g grid) forRates(slowest float64) grid {
	const enough = 20
	to := g.step * float64(g.n)
	for _, s := range steps {
		if s >= 1 || s >= g.step && slowest*s >= enough {
			s = max(s, g.step)
			return grid{s, int(math.Ceil(to / s))}
		}
	}
	return g
}

// series puts points on the grid.
func (g grid) series(name, look string, points []point) Series {
	v, lo, hi := downsample(points, g.step, g.n)
	s := Series{Name: name, Look: look, V: v}
	if g.step > 1 {
		s.Lo, s.Hi = lo, hi
	}
	return s
}

// downsample gives the mean, the least and the greatest of the points in each of
// n steps, NaN where there is none.
func downsample(points []point, step float64, n int) (mean, least, greatest Values) {
	mean, least, greatest = make(Values, n), make(Values, n), make(Values, n)
	counts := make([]float64, n)
	for i := range n {
		mean[i], least[i], greatest[i] = 0, math.Inf(1), math.Inf(-1)
	}
	for _, p := range points {
		i := min(int(p.at/step), n-1)
		counts[i]++
		mean[i] += p.v
		least[i], greatest[i] = min(least[i], p.v), max(greatest[i], p.v)
	}
	for i := range n {
		if mean[i] /= counts[i]; counts[i] == 0 {
			mean[i], least[i], greatest[i] = math.NaN(), math.NaN(), math.NaN()
		}
	}
	return mean, least, greatest
}
