package page

import (
	"fmt"

	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/report"
)

// figureTable is the table behind a chart: all that is known of one figure.
type figureTable struct {
	Title    label
	Compared bool // there is more than one group
	Rows     []figureRow
}

// figureRow is what the runs of one group give.
type figureRow struct {
	Name           groupName
	None           bool
	N              int
	Mean, Min, Max number
	Each           []number
	Ratio, P       *number
	Words, Marks   string
}

func tableOfFigure(t compare.Table, r compare.Row) figureTable {
	out := figureTable{Title: labelOf(r.Name(), 2*shortText), Compared: len(t.Groups) > 1}
	for i, c := range r.Cells {
		row := figureRow{Name: nameOf(t.Groups[i]), None: c == nil}
		if c != nil {
			row.fill(r.Unit, *c)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func (f *figureRow) fill(unit string, c compare.Cell) {
	write := func(v float64) number { return numberOf(v, amountText(unit, v)) }
	f.N, f.Mean, f.Min, f.Max = c.N, write(c.Mean), write(c.Min), write(c.Max)
	for _, v := range c.Values {
		f.Each = append(f.Each, write(v))
	}
	f.Ratio, f.Words, f.Marks = ratioOf(c), c.Words, report.Signs(c.Marks)
	if d := c.Difference; d != nil {
		f.P = new(numberOf(d.P, axisText("", d.P)))
	}
}

func ratioOf(c compare.Cell) *number {
	if c.Ratio == nil {
		return nil
	}
	return new(numberOf(*c.Ratio, ratioText(*c.Ratio)))
}

// wholeTable is the whole comparison for some of its groups, the base among them.
type wholeTable struct {
	Title string
	Heads []wholeHead
	Rows  []wholeRow
}

type wholeHead struct {
	Name  groupName
	Runs  int
	Marks string
}

// wholeRow is a figure. Begins says that it is the first of what it is of.
type wholeRow struct {
	Name   label
	Begins bool
	Cells  []wholeCell
}

type wholeCell struct {
	None, Spread   bool
	Mean, Min, Max number
	Runs           int // that count, where they are not all of the group
	Ratio          *number
	Verdict        verdict
	Marks          string
}

// groupsAtOnce is how many groups stand in one table beside the base: so many are
// readable on a desk, and on paper.
const groupsAtOnce = 5

// wholeTables are the comparison as the text form has it, also of what is 0 in all runs.
func wholeTables(t compare.Table) []wholeTable {
	var out []wholeTable
	for from := 1; from == 1 || from < len(t.Groups); from += groupsAtOnce {
		columns := []int{0}
		for i := from; i < min(from+groupsAtOnce, len(t.Groups)); i++ {
			columns = append(columns, i)
		}
		w := wholeTableOf(t, columns)
		if len(t.Groups) > 1+groupsAtOnce {
			w.Title = fmt.Sprintf("Groups %d to %d of %d, beside the base", columns[1]+1, columns[len(columns)-1]+1, len(t.Groups))
		}
		out = append(out, w)
	}
	return out
}

func wholeTableOf(t compare.Table, columns []int) wholeTable {
	w := wholeTable{Title: "All figures"}
	for _, i := range columns {
		g := t.Groups[i]
		w.Heads = append(w.Heads, wholeHead{nameOf(g), len(g.Runs), signsOf(g)})
	}
	of := ""
	for _, r := range t.Rows {
		row := wholeRow{Name: labelOf(r.Name(), shortText), Begins: r.Of != of}
		of = r.Of
		for _, i := range columns {
			row.Cells = append(row.Cells, wholeCellOf(r, r.Cells[i], len(t.Groups[i].Runs)))
		}
		w.Rows = append(w.Rows, row)
	}
	return w
}

func wholeCellOf(r compare.Row, c *compare.Cell, runs int) wholeCell {
	if c == nil {
		return wholeCell{None: true}
	}
	write := func(v float64) number { return numberOf(v, amountText(r.Unit, v)) }
	out := wholeCell{
		Spread: c.N > 1, Mean: write(c.Mean), Min: write(c.Min), Max: write(c.Max),
		Ratio: ratioOf(*c), Verdict: verdictOf(*c), Marks: report.Signs(c.Marks),
	}
	if c.N != runs {
		out.Runs = c.N
	}
	return out
}
