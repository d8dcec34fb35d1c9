package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/compare"
)

// findings are what differs, what may, and what does not, in words.
func findings(t compare.Table) []Finding {
	if len(t.Groups) == 1 {
		return []Finding{{Title: "Nothing differs by more than noise: all runs were made under the same conditions, and what differs between repeats is noise."}}
	}
	out := []Finding{
		{headline(t), nil},
		{"Differs by more than noise (Mann–Whitney U test, p ≤ 0.05):", worded(t, compare.Differs)},
		{"Differs as far as so few runs can show (the ranges lie at least as far apart as the wider one is wide, which of pairs that do not differ about one in a hundred does):", worded(t, compare.Apart)},
		{"Cannot be told, though the ranges do not overlap:", worded(t, compare.CannotTell)},
		{"Cannot be told, of one run alone:", byGroup(t, alone)},
		{"No difference that is more than noise:", byGroup(t, unremarkable)},
	}
	return slices.DeleteFunc(out, func(f Finding) bool { return f.Title == "" || f.Title != headline(t) && len(f.Lines) == 0 })
}

// headline says that nothing differs, where nothing does; else it is "".
func headline(t compare.Table) string {
	differs, few, tested := false, false, false
	eachDifference(t, func(_ compare.Row, c compare.Cell, _ compare.Group) {
		d := c.Difference
		differs = differs || d.Verdict == compare.Differs || d.Verdict == compare.Apart
		few = few || d.Verdict == compare.CannotTell
		tested = tested || !alone(c)
	})
	switch {
	case differs:
		return ""
	case !tested:
		return "Nothing can be told: of one run alone it is not known how far two of them lie apart."
	case few:
		return "Nothing differs by more than noise, as far as so few runs can show."
	}
	return "Nothing differs by more than noise."
}

// worded are the words of the cells with a verdict. Of those that cannot be told, the
// ones whose ranges overlap are only named.
func worded(t compare.Table, v compare.Verdict) []string {
	var out []string
	eachDifference(t, func(r compare.Row, c compare.Cell, _ compare.Group) {
		if c.Difference.Verdict == v && !unremarkable(c) && !alone(c) {
			both := append(slices.Clone(r.Cells[0].Marks), c.Marks...)
			out = append(out, strings.TrimRight(c.Words+" "+Signs(both), " "))
		}
	})
	return out
}

// alone: there is but one run of it, or of the base.
func alone(c compare.Cell) bool { return min(c.Difference.N1, c.Difference.N2) < 2 }

func unremarkable(c compare.Cell) bool {
	d := c.Difference
	return !alone(c) && (d.Verdict == compare.Noise || d.Verdict == compare.Equal || d.Verdict == compare.CannotTell && d.Overlap)
}

// byGroup names, for each group, the figures of which something holds.
func byGroup(t compare.Table, holds func(compare.Cell) bool) []string {
	names, all := map[string][]string{}, map[string]int{}
	eachDifference(t, func(r compare.Row, c compare.Cell, g compare.Group) {
		if r.Zero() {
			return
		}
		if all[g.Name]++; holds(c) {
			names[g.Name] = append(names[g.Name], r.Name())
		}
	})
	var out []string
	for _, g := range t.Groups[1:] {
		switch list := names[g.Name]; len(list) {
		case 0:
		case all[g.Name]:
			out = append(out, g.Name+": all figures")
		default:
			out = append(out, g.Name+": "+strings.Join(list, ", "))
		}
	}
	return out
}

func eachDifference(t compare.Table, do func(compare.Row, compare.Cell, compare.Group)) {
	for _, r := range t.Rows {
		for i, c := range r.Cells {
			if c != nil && c.Difference != nil {
				do(r, *c, t.Groups[i])
			}
		}
	}
}

// doubts are the notes of a comparison, those that its numbers of runs give, and the signs'.
func doubts(t compare.Table) []string {
	out := slices.Clone(t.Notes)
	if few := t.TooFew(); few != "" {
		out = append(out, few)
	}
	tests := 0
	eachDifference(t, func(_ compare.Row, c compare.Cell, _ compare.Group) {
		if c.Difference.BestP <= t.Alpha && c.Difference.Verdict != compare.Equal {
			tests++
		}
	})
	if tests > 1 {
		out = append(out, fmt.Sprintf("%d figures were tested: by chance alone about one in twenty differs", tests))
	}
	if names := zeros(t); names != "" {
		out = append(out, "0 in all runs: "+names)
	}
	return append(out, footnotes(t)...)
}
