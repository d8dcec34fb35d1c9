package page

import (
	"strings"

	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/report"
)

// groupName is how a group is called at its bars and in tables: by its label. Where
// labels are long, that is a letter, and the values of the conditions without their keys.
type groupName struct {
	Letter string
	Label  label
	Base   bool
}

func nameOf(g compare.Group) groupName {
	if g.Name == g.Label {
		return groupName{Label: labelOf(g.Label, shortText), Base: g.Base}
	}
	var values []string
	for _, c := range g.Conditions {
		values = append(values, c.Value)
	}
	short := labelOf(strings.Join(values, " · "), shortValues)
	return groupName{Letter: g.Name, Label: label{short.Text, g.Label}, Base: g.Base}
}

// groupRow is a group with the conditions that it differs by.
type groupRow struct {
	Name   groupName
	Values []label
	Runs   int
	Marks  string
}

func groupRows(t compare.Table) []groupRow {
	var out []groupRow
	for _, g := range t.Groups {
		row := groupRow{Name: nameOf(g), Runs: len(g.Runs), Marks: signsOf(g)}
		for _, c := range g.Conditions {
			row.Values = append(row.Values, labelOf(c.Value, shortText))
		}
		out = append(out, row)
	}
	return out
}

// signsOf are the signs of all marks that runs of a group have.
func signsOf(g compare.Group) string {
	var all []compare.Mark
	for _, r := range g.Runs {
		all = append(all, r.Marks...)
	}
	return report.Signs(all)
}

// runRow is a run of a group.
type runRow struct {
	Group               groupName
	Folder, Scenario    label
	Started, Marks, Why string
}

func runRows(t compare.Table) []runRow {
	var out []runRow
	for _, g := range t.Groups {
		for _, r := range g.Runs {
			out = append(out, runRow{
				Group: nameOf(g), Folder: labelOf(r.Folder, 2*shortText), Scenario: labelOf(r.Scenario, shortText),
				Started: r.Started.UTC().Format("2006-01-02 15:04:05"), Marks: report.Signs(r.Marks), Why: r.Why,
			})
		}
	}
	return out
}
