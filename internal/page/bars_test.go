package page

import (
	"math"
	"testing"

	"golang.org/x/net/html"

	"github.com/rankbench/rankbench/internal/compare"
)

// TestBarsAreAsLongAsTheirFigures: all lengths and places of a chart are the same
// multiple of their figures, to a thousandth of a hundredth of its width.
func TestBarsAreAsLongAsTheirFigures(t *testing.T) {
	for name, table := range comparisons(t) {
		t.Run(name, func(t *testing.T) {
			p := parse(t, comparisonOf(t, table))
			drawn := 0
			for _, r := range table.Rows {
				if c := p.chartOf(r); c != nil {
					drawn++
					checkBars(t, *c, r)
				}
			}
			if drawn != len(p.all("figure")) || drawn < 20 {
				t.Errorf("%d of %d charts were looked at", drawn, len(p.all("figure")))
			}
		})
	}
}

func checkBars(t *testing.T, chart parsed, r compare.Row) {
	t.Helper()
	rows := chart.ofClass("div", "row")
	if len(rows) != len(r.Cells)+1 { // and the axis
		t.Fatalf("%s has %d rows for %d groups", r.Name(), len(rows), len(r.Cells))
	}
	for i, c := range r.Cells {
		row := parsed{rows[i]}
		if c != nil {
			checkBar(t, row, r, *c)
		} else if len(row.all("rect"))+len(row.all("circle")) > 0 {
			t.Errorf("%s draws what group %d has not", r.Name(), i)
		}
	}
	checkAxis(t, parsed{rows[len(r.Cells)]}.all("text"), r)
}

// checkPlace holds a place in a chart to its figure.
func checkPlace(t *testing.T, what string, r compare.Row, got, figure float64) {
	t.Helper()
	if want := 100 * figure / scaleOf(r).top; got < want-0.001 || got > want+0.001 || got > 100 {
		t.Errorf("%s: %s stands at %g %%, want %g %%", r.Name(), what, got, want)
	}
}

func checkBar(t *testing.T, row parsed, r compare.Row, c compare.Cell) {
	t.Helper()
	at := 0.0
	for _, piece := range row.all("rect") {
		if x := percentOf(t, attr(piece, "x")); math.Abs(x-at) > 0.0015 {
			t.Errorf("%s: a piece begins at %g %%, the one before ended at %g %%", r.Name(), x, at)
		}
		at += percentOf(t, attr(piece, "width"))
	}
	checkPlace(t, "the bar's end", r, at, c.Mean)
	dots := row.all("circle")
	if len(dots) != len(c.Values) {
		t.Fatalf("%s has %d dots for %d runs", r.Name(), len(dots), len(c.Values))
	}
	for i, v := range c.Values {
		checkPlace(t, "a dot", r, percentOf(t, attr(dots[i], "cx")), v)
	}
}

func checkAxis(t *testing.T, ticks []*html.Node, r compare.Row) {
	t.Helper()
	for i, tick := range ticks {
		v := float64(i) * scaleOf(r).step
		checkPlace(t, "a tick", r, percentOf(t, attr(tick, "x")), v)
		if want := axisText(r.Unit, v); textOf(tick) != want && (len(ticks) < 5 || i%2 == 0) {
			t.Errorf("%s: a tick is %q, want %s", r.Name(), textOf(tick), want)
		}
	}
	if first := ticks[0]; textOf(first) != "0" || percentOf(t, attr(first, "x")) != 0 {
		t.Errorf("%s: the axis begins with %s", r.Name(), textOf(first))
	}
}

func TestScalesAreRoundAndHaveRoom(t *testing.T) {
	row := func(unit string, most float64) compare.Row {
		return compare.Row{Unit: unit, Cells: []*compare.Cell{nil, {Max: most}}}
	}
	for _, tt := range []struct {
		unit      string
		most      float64
		step, top float64
		last      string
	}{
		{"1/s", 24_512, 10_000, 30_000, "30k"}, {"1/s", 996, 250, 1000, "1000"}, {"1/s", 1_000_000, 250_000, 1_000_000, "1M"}, {"1/s", 0.3, 0.1, 0.3, "0.3"},
		{"us", 312, 100, 400, "400 µs"}, {"us", 2100, 1000, 3000, "3 ms"}, {"us/command", 12.3, 5, 15, "15 µs"}, {"s", 2.28, 1, 3, "3 s"}, {"%", 142, 50, 150, "150 %"},
		{"", 1, 1, 1, "1"}, {"", 3, 1, 3, "3"}, {"bytes/min", 4.1e8, 2e8, 6e8, "600 MB"}, {"1/s", 0, 1, 1, "1"},
	} {
		s := scaleOf(row(tt.unit, tt.most))
		if ticks := s.ticks(tt.unit); math.Abs(s.step/tt.step-1) > 1e-9 || math.Abs(s.top/tt.top-1) > 1e-9 || ticks[len(ticks)-1].Text != tt.last {
			t.Errorf("%g %s: %+v %v", tt.most, tt.unit, s, ticks)
		}
	}
}

// TestAnOutageIsDividedOnlyWhereAllItsRunsAre: means over other runs would not add up.
func TestAnOutageIsDividedOnlyWhereAllItsRunsAre(t *testing.T) {
	table := compared(t, kinds["few"]()...)
	p := parse(t, comparisonOf(t, table))
	got := map[string]string{}
	for _, r := range table.Rows {
		if r.Value == "outage" {
			for i, row := range p.chartOf(r).ofClass("div", "row")[:len(r.Cells)] {
				for _, piece := range (parsed{row}).all("rect") {
					got[r.Of+" "+table.Groups[i].Name] += attr(piece, "class") + " "
				}
			}
		}
	}
	for name, want := range map[string]string{
		"set score_spread 100000": "piece service piece client ", "get score_spread 100000": "piece service piece client ",
		"set score_spread 100":  "piece service piece client ", // of the one run that came to its end
		"set score_spread 5000": "piece outage ",
	} {
		if got[name] != want {
			t.Errorf("%s is drawn as %q, want %q", name, got[name], want)
		}
	}
}
