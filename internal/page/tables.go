package page

import (
	"math"

	"github.com/rankbench/rankbench/internal/legible"
)

// table is what stands behind a picture, as texts.
type table struct {
	Head []string
	Rows [][]string
	Note string
}

// maxRows is how long a table of values is at most.
const maxRows = 60

// tableOf is the table of a lane: of its values, or of its spans where it has
// strips alone.
func tableOf(l Lane) table {
	if len(l.Panels) == 0 {
		return spanTable(l)
	}
	columns, n := columnsOf(l)
	k := max(1, (n+maxRows-1)/maxRows)
	if l.StepS < 1 {
		k = max(k, int(math.Round(1/l.StepS))) // a row a second is enough to read
	}
	t := table{Head: []string{"time"}, Note: "A row is " + durationText(float64(k)*l.StepS) + ": the mean, and in brackets the least and the greatest."}
	for _, s := range l.Strips {
		t.Head = append(t.Head, s.Name)
	}
	for _, c := range columns {
		t.Head = append(t.Head, c.name)
	}
	for i := 0; i < n; i += k {
		t.Rows = append(t.Rows, row(l, columns, i, min(i+k, n)))
	}
	return t
}

// column is a series of a lane with the unit that its values are written in.
type column struct {
	name, unit string
	Series
}

func columnsOf(l Lane) (out []column, n int) {
	for _, p := range l.Panels {
		for _, s := range p.Series {
			out = append(out, column{s.Name + unitNames[p.Unit], p.Unit, s})
			n = max(n, len(s.V))
		}
	}
	return out, n
}

// row is a lane from step i to step j.
func row(l Lane, columns []column, i, j int) []string {
	out := []string{legible.Clock(float64(i) * l.StepS)}
	for _, s := range l.Strips {
		out = append(out, textAt(s, float64(i)*l.StepS, float64(j)*l.StepS))
	}
	for _, c := range columns {
		out = append(out, c.text(i, j))
	}
	return out
}

// textAt is what a strip says between two offsets.
func textAt(s Strip, from, to float64) string {
	text := ""
	for _, sp := range s.Spans {
		if sp.FromS < to && sp.ToS > from {
			if text != "" {
				text += " → "
			}
			text += sp.Text
		}
	}
	return text
}

// text is "1,203 (0–2,310)", the extremes only where they read differently.
func (c column) text(i, j int) string {
	mean, lo, hi, n := 0.0, math.Inf(1), math.Inf(-1), 0.0
	for k := i; k < min(j, len(c.V)); k++ {
		if math.IsNaN(c.V[k]) {
			continue
		}
		n++
		mean += c.V[k]
		lo, hi = min(lo, at(c.Lo, c.V, k)), max(hi, at(c.Hi, c.V, k))
	}
	if n == 0 {
		return dash
	}
	m, l, h := unitText(c.unit, mean/n), unitText(c.unit, lo), unitText(c.unit, hi)
	if m == l && m == h {
		return m
	}
	return m + " (" + l + "–" + h + ")"
}

// at is an extreme, or the value itself where none are kept.
func at(extremes, values Values, i int) float64 {
	if len(extremes) == 0 {
		return values[i]
	}
	return extremes[i]
}

func spanTable(l Lane) table {
	t := table{Head: []string{"what", "from", "to", "is"}}
	for _, s := range l.Strips {
		for _, sp := range s.Spans {
			t.Rows = append(t.Rows, []string{s.Name, preciseClock(sp.FromS), preciseClock(sp.ToS), sp.Text})
		}
	}
	return t
}
