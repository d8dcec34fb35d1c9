package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/rankbench/rankbench/internal/compare"
)

// marks are how a mark is shown, and what it means.
var marks = []struct {
	mark     compare.Mark
	sign     string
	footnote string
}{
	{compare.Bottleneck, "*", "the client was the bottleneck: the servers may carry more, and a difference may be the client's"},
	{compare.Interrupted, "†", "interrupted: rates and latencies are of the time until then; its outages and lost writes do not count"},
	{compare.Killed, "‡", "killed: rates and latencies are of the time until then; its outages and lost writes do not count"},
	{compare.FailedStep, "#", "a step failed: the run counts for no figure"},
}

// Signs are those of some marks: "*†".
func Signs(of []compare.Mark) string {
	text := ""
	for _, m := range marks {
		if slices.Contains(of, m.mark) {
			text += m.sign
		}
	}
	return text
}

// footnotes explain the signs that are there, each with its runs.
func footnotes(t compare.Table) []string {
	var out []string
	for _, m := range marks {
		var runs []string
		for _, g := range t.Groups {
			for _, r := range g.Runs {
				if slices.Contains(r.Marks, m.mark) {
					runs = append(runs, r.Folder)
				}
			}
		}
		if len(runs) > 0 {
			out = append(out, fmt.Sprintf("%s %s (%s)", m.sign, m.footnote, strings.Join(runs, ", ")))
		}
	}
	return out
}

// tableHeader names the groups, the base first, with the runs of each.
func tableHeader(t compare.Table) []string {
	header := []string{"of", "value"}
	for _, g := range t.Groups {
		var all []compare.Mark
		for _, r := range g.Runs {
			all = append(all, r.Marks...)
		}
		text := fmt.Sprintf("%s: n=%d%s", g.Name, len(g.Runs), Signs(all))
		if g.Base {
			text += ", base"
		}
		header = append(header, text)
	}
	return header
}

// comparedRows are the rows of the table; those that are 0 in all runs are left out.
func comparedRows(t compare.Table) [][]string {
	var out [][]string
	for _, r := range t.Rows {
		if r.Zero() {
			continue
		}
		row := []string{r.Of, strings.ReplaceAll(r.Value, "_", " ")}
		for i, c := range r.Cells {
			row = append(row, comparedCell(r, c, len(t.Groups[i].Runs)))
		}
		out = append(out, row)
	}
	return out
}

// comparedCell is "24,512 (23,900…25,100) ×0.88 ≠ *"; n is given where it is not the group's.
func comparedCell(r compare.Row, c *compare.Cell, runs int) string {
	if c == nil {
		return "-"
	}
	text := amount(r.Unit, c.Mean)
	if c.N > 1 {
		text += fmt.Sprintf(" (%s…%s)", amount(r.Unit, c.Min), amount(r.Unit, c.Max))
	}
	if c.N != runs {
		text += fmt.Sprintf(" n=%d", c.N)
	}
	if c.Ratio != nil {
		text += fmt.Sprintf(" ×%.2f", *c.Ratio)
	}
	if c.Difference != nil {
		text += " " + VerdictSign(c.Difference.Verdict)
	}
	return strings.TrimRight(text+" "+Signs(c.Marks), " ")
}

var verdictSigns = map[compare.Verdict]string{
	compare.Differs: "≠", compare.Apart: "≠?", compare.CannotTell: "?", compare.Noise: "~", compare.Equal: "=",
}

// VerdictSign is that of a verdict: "≠".
func VerdictSign(v compare.Verdict) string { return verdictSigns[v] }

const verdictLegend = "×: mean over the base's; ≠ differs by more than noise; ≠? too few runs to tell, but far apart; ? too few runs to tell; ~ no more than noise; = the same"

// amount writes a figure in its unit.
func amount(unit string, v float64) string {
	switch unit {
	case "us", "us/command":
		return micros(v)
	case "s":
		return fmt.Sprintf("%.2f s", v)
	case "%":
		return percent(v)
	case "bytes/min":
		return size(v)
	}
	return figure(v)
}

// zeros names what is 0 in all runs.
func zeros(t compare.Table) string {
	var names []string
	for _, r := range t.Rows {
		if r.Zero() {
			names = append(names, r.Name())
		}
	}
	return strings.Join(names, ", ")
}

// same is what all runs have in common: "members 20000, replicas 2".
func same(t compare.Table) string {
	var out []string
	for _, c := range t.Same {
		if c.Value != "" {
			out = append(out, c.Key+" "+c.Value)
		}
	}
	return strings.Join(out, ", ")
}

// heading is "6 runs in 2 groups by score_spread".
func compareHeading(t compare.Table) string {
	runs := 0
	for _, g := range t.Groups {
		runs += len(g.Runs)
	}
	if len(t.Groups) == 1 {
		return fmt.Sprintf("%d runs under the same conditions", runs)
	}
	return fmt.Sprintf("%d runs in %d groups by %s", runs, len(t.Groups), strings.Join(t.By, ", "))
}

// legend says what the letters stand for, where groups have letters.
func legend(t compare.Table) []string {
	var out []string
	for _, g := range t.Groups {
		if g.Name != g.Label {
			out = append(out, g.Name+": "+g.Label)
		}
	}
	return out
}

// ComparisonText prints a comparison.
func ComparisonText(w io.Writer, t compare.Table) error {
	t = allVisible(t)
	said := Say(t)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", said.Heading)
	for _, line := range said.Letters {
		fmt.Fprintf(&b, "%s\n", line)
	}
	header := tableHeader(t)
	tw := newTable(&b, cells(header)...)
	rightFrom(tw, 3, len(header))
	for _, r := range comparedRows(t) {
		tw.AppendRow(cells(r))
	}
	tw.Render()
	if said.Signs != "" {
		fmt.Fprintf(&b, "%s\n", said.Signs)
	}
	for _, f := range said.Findings {
		fmt.Fprintf(&b, "\n%s\n", f.Title)
		for _, l := range f.Lines {
			fmt.Fprintf(&b, "  %s\n", l)
		}
	}
	fmt.Fprintf(&b, "\nthe same in all runs: %s\n", said.Same)
	for _, d := range said.Notes {
		fmt.Fprintf(&b, "note: %s\n", d)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func cells(texts []string) table.Row {
	var row table.Row
	for _, c := range texts {
		row = append(row, cell(c))
	}
	return row
}

// ComparisonMarkdown writes a comparison for pull requests and tickets.
func ComparisonMarkdown(w io.Writer, t compare.Table) error {
	said := Say(t)
	var m markdown
	m.heading(1, said.Heading)
	m.list(said.Letters)
	m.table(tableHeader(t), 2, comparedRows(t))
	if said.Signs != "" {
		fmt.Fprintf(&m, "%s\n\n", mdText(said.Signs, maxText))
	}
	for _, f := range said.Findings {
		fmt.Fprintf(&m, "%s\n\n", mdText(f.Title, maxText))
		m.list(f.Lines)
	}
	fmt.Fprintf(&m, "The same in all runs: %s\n\n", mdText(said.Same, maxText))
	if len(said.Notes) > 0 {
		m.heading(2, "Notes")
		m.list(said.Notes)
	}
	_, err := io.WriteString(w, strings.TrimRight(m.String(), "\n")+"\n")
	return err
}

// ComparisonCSV writes a row for each figure and group; the keys that the groups
// are told apart by have columns of their own.
func ComparisonCSV(w io.Writer, t compare.Table) error {
	c := csv.NewWriter(w)
	header := []string{"of", "value", "unit", "group", "base"}
	for _, k := range t.By {
		header = append(header, csvText(k))
	}
	rows := [][]string{append(header, "n", "mean", "min", "max", "ratio", "p", "verdict", "marks", "words")}
	for _, r := range t.Rows {
		for i, x := range r.Cells {
			if x != nil {
				rows = append(rows, comparisonCSVRow(r, *x, t.Groups[i]))
			}
		}
	}
	return c.WriteAll(rows)
}

func comparisonCSVRow(r compare.Row, c compare.Cell, g compare.Group) []string {
	row := []string{csvText(r.Of), csvText(r.Value), r.Unit, csvText(g.Label), strconv.FormatBool(g.Base)}
	for _, x := range g.Conditions {
		row = append(row, csvText(x.Value))
	}
	ratio, p, verdict := "", "", ""
	if c.Ratio != nil {
		ratio = csvFloat(*c.Ratio)
	}
	if d := c.Difference; d != nil {
		p, verdict = strconv.FormatFloat(d.P, 'g', 4, 64), string(d.Verdict)
	}
	var names []string
	for _, m := range c.Marks {
		names = append(names, string(m))
	}
	return append(row, strconv.Itoa(c.N), csvFloat(c.Mean), csvFloat(c.Min), csvFloat(c.Max), ratio, p, verdict, strings.Join(names, " "), csvText(c.Words))
}
