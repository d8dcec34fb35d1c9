package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/report"
)

// chart is the picture of one figure: for each group a bar from 0 to the mean of its
// runs, and a dot for each run.
type chart struct {
	Title  label
	Says   string // the picture in words
	Ticks  []tick
	Bars   []bar
	Words  []string // how the groups stand to the base, where they are few
	Tables []figureTable
}

// bar is a group's row of a chart. What none of its runs has, is no bar of length 0.
type bar struct {
	Name    groupName
	None    bool
	Pieces  []piece
	Dots    []dot
	Value   string
	Marks   string
	Ratio   string
	Verdict verdict
	Runs    int // that count, where they are not all of the group
}

// piece is a part of a bar, dot a run, tick a line across a chart. Their places are
// shares of the width in percent; a dot's height is in pixels from the bar's middle.
type (
	piece struct{ Look, X, Width string }
	dot   struct{ X, Y, Title string }
	tick  struct{ X, Anchor, Text string }
)

// verdict is how a group stands to the base: a sign, a word or two, and all words.
type verdict struct{ Look, Sign, Short, Words string }

// shortVerdicts stand at the bars. The sentences say more.
var shortVerdicts = map[compare.Verdict]string{
	compare.Differs: "differs", compare.Apart: "far apart", compare.CannotTell: "cannot tell", compare.Noise: "noise", compare.Equal: "the same",
}

func verdictOf(c compare.Cell) verdict {
	if c.Difference == nil {
		return verdict{}
	}
	v := c.Difference.Verdict
	return verdict{string(v), report.VerdictSign(v), shortVerdicts[v], c.Words}
}

// fewOthers is how many groups beside the base are spoken of under a chart; of more,
// the words are in its table alone.
const fewOthers = 4

func newChart(t compare.Table, r compare.Row, parts []compare.Row) chart {
	s := scaleOf(r)
	c := chart{Title: labelOf(r.Name(), 2*shortText), Ticks: s.ticks(r.Unit)}
	says := []string{r.Name()}
	for i, cell := range r.Cells {
		b := newBar(s, r, cell, t.Groups[i])
		if cell != nil {
			b.Pieces = pieces(s, cell, partCells(parts, i), i == 0)
		}
		c.Bars = append(c.Bars, b)
		says = append(says, b.says(cell, r.Unit))
	}
	c.Says = strings.Join(says, ". ")
	for _, row := range append([]compare.Row{r}, parts...) {
		c.Tables = append(c.Tables, tableOfFigure(t, row))
	}
	if len(t.Groups) <= 1+fewOthers {
		c.Words = wordsUnder(r)
	}
	return c
}

// wordsUnder are the sentences about a figure without its name, which the chart has.
func wordsUnder(r compare.Row) []string {
	var out []string
	for _, c := range r.Cells {
		if c != nil && c.Words != "" {
			out = append(out, strings.TrimPrefix(c.Words, r.Name()+": "))
		}
	}
	return out
}

func newBar(s scale, r compare.Row, c *compare.Cell, g compare.Group) bar {
	b := bar{Name: nameOf(g), None: c == nil}
	if c == nil {
		return b
	}
	b.Value, b.Marks, b.Verdict = amountText(r.Unit, c.Mean), report.Signs(c.Marks), verdictOf(*c)
	if c.Ratio != nil {
		b.Ratio = ratioText(*c.Ratio)
	}
	if c.N != len(g.Runs) {
		b.Runs = c.N
	}
	for i, v := range c.Values {
		title := amountText(r.Unit, v)
		if c.N == len(g.Runs) { // only then it is known whose value it is
			title = g.Runs[i].Folder + report.Signs(g.Runs[i].Marks) + ": " + title
		}
		b.Dots = append(b.Dots, dot{share(s.part(v)), lane(i, c.N), title})
	}
	return b
}

// lanes are the heights that the dots of a group take in turns, so that runs with the
// same value do not hide each other.
const lanes = 5

// lane is the height of the i-th of n dots above or below the bar's middle, pixels.
func lane(i, n int) string {
	used := min(n, lanes)
	if used < 2 {
		return "0"
	}
	const height = 9.0
	return strconv.FormatFloat(height*float64(i%used)/float64(used-1)-height/2, 'f', 2, 64)
}

// says is a bar in words: "score_spread 100: 4,684 (4,606 to 4,747 in 3 runs), ×3.13, far apart".
func (b bar) says(c *compare.Cell, unit string) string {
	text := b.Name.Label.Text + ": "
	if b.Name.Letter != "" {
		text = b.Name.Letter + ": "
	}
	if c == nil {
		return text + "not known"
	}
	text += b.Value
	if c.N > 1 {
		text += fmt.Sprintf(" (%s to %s in %d runs)", amountText(unit, c.Min), amountText(unit, c.Max), c.N)
	}
	for _, more := range []string{b.Ratio, b.Verdict.Short, b.Marks} {
		if more != "" {
			text += ", " + more
		}
	}
	if b.Name.Base {
		text += ", the base"
	}
	return text
}

// partCells are what a group has for the parts of a figure.
func partCells(parts []compare.Row, group int) []*compare.Cell {
	var out []*compare.Cell
	for _, p := range parts {
		out = append(out, p.Cells[group])
	}
	return out
}

// pieces are the bar of a cell: of its parts, where every run that has the figure
// has them, too; means over other runs would not add up to it.
func pieces(s scale, c *compare.Cell, parts []*compare.Cell, first bool) []piece {
	look := "other"
	if first {
		look = "base"
	}
	if len(parts) > 0 {
		look = "outage"
	}
	whole := []piece{{look, share(0), share(s.part(c.Mean))}}
	var out []piece
	from := 0.0
	for i, p := range parts {
		if p == nil || p.N != c.N {
			return whole
		}
		out = append(out, piece{outageParts[i].look, share(s.part(from)), share(s.part(from+p.Mean) - s.part(from))})
		from += p.Mean
	}
	if len(out) == 0 {
		return whole
	}
	return out
}

// scale is an axis that begins at 0 and ends at a round figure.
type scale struct{ step, top float64 }

// scaleOf has room for every run of a row.
func scaleOf(r compare.Row) scale {
	most := 0.0
	for _, c := range r.Cells {
		if c != nil {
			most = max(most, c.Max)
		}
	}
	step := roundUp(most / 4)
	if r.Unit == "" {
		step = max(step, 1) // there are no halves of a count
	}
	return scale{step, step * max(1, math.Ceil(most/step-1e-9))}
}

// roundUp is the next of 1, 2, 2.5 and 5 times a power of ten.
func roundUp(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 1) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= v {
			return m * power
		}
	}
	return 10 * power
}

// part is how far along the axis a value stands, from 0 to 1.
func (s scale) part(v float64) float64 {
	if !(v > 0) {
		return 0
	}
	return min(v/s.top, 1)
}

// ticks are the lines across a chart. Of more than four every other one has a
// text: so many fit beside each other on a phone.
func (s scale) ticks(unit string) []tick {
	last := int(math.Round(s.top / s.step))
	var out []tick
	for i := range last + 1 {
		v := float64(i) * s.step
		t := tick{X: share(s.part(v)), Anchor: "middle"}
		if last < 4 || i%2 == 0 {
			t.Text = axisText(unit, v)
		}
		if i == last {
			t.Anchor = "end" // it must not stand beyond the picture
		}
		out = append(out, t)
	}
	return out
}

// share writes a part of the width: "43.210%".
func share(part float64) string { return strconv.FormatFloat(100*part, 'f', 3, 64) + "%" }
