package page

import (
	"bytes"
	_ "embed" // the template and the style of a comparison
	"fmt"
	"html/template"
	"io"
	"slices"
	"time"

	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/report"
)

//go:embed assets/compare.html
var compareHTML string

//go:embed assets/compare.css
var compareCSS string

// comparison is what the template is given: clean texts, and pictures whose lengths
// are shares of their width, so that they fit a desk, a phone and paper without a script.
type comparison struct {
	Title            string
	Sub              []string
	Findings         []finding
	Notes            []string
	Signs            string
	Keys             []label // what the groups are told apart by
	Lettered         bool    // groups have letters, as their labels are long
	Groups           []groupRow
	Runs             []runRow
	Split, Undivided bool // there are outages of which the parts are shown, and others
	Sections         []section
	Whole            []wholeTable
	Same             []fact
	Style            template.CSS
	Policy           string
}

// Comparison writes a comparison of runs as one HTML file: what differs, in the words
// of the comparison, a chart of bars for each figure with a table behind it, and the
// whole table. It has no script at all, asks for nothing over the network, and takes
// any text of the table for hostile.
func Comparison(w io.Writer, t compare.Table) error {
	tmpl, err := template.New("comparison").Parse(compareHTML)
	if err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	var page bytes.Buffer
	if err := tmpl.Execute(&page, newComparison(tidied(t))); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	if _, err := page.WriteTo(w); err != nil {
		return fmt.Errorf("write comparison: %w", err)
	}
	return nil
}

func newComparison(t compare.Table) comparison {
	style := pageCSS + compareCSS
	said := report.Say(t)
	c := comparison{
		Title: said.Heading, Sub: comparedWhen(t), Notes: said.Notes, Signs: said.Signs,
		Groups: groupRows(t), Runs: runRows(t), Sections: sectionsOf(t), Whole: wholeTables(t),
		Style: template.CSS(style), Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src " + hash(style),
	}
	for _, f := range said.Findings {
		c.Findings = append(c.Findings, foldedFinding(f))
	}
	c.Lettered = len(said.Letters) > 0
	for _, k := range t.By {
		c.Keys = append(c.Keys, labelOf(k, shortText))
	}
	for _, s := range t.Same {
		if s.Value != "" {
			c.Same = append(c.Same, fact{s.Key, s.Value})
		}
	}
	c.Split, c.Undivided = drawn(c.Sections, "service"), drawn(c.Sections, "outage")
	return c
}

// drawn says whether a bar of a chart has a piece of such a look.
func drawn(all []section, look string) bool {
	for _, s := range all {
		for _, c := range s.Charts {
			for _, b := range c.Bars {
				if slices.ContainsFunc(b.Pieces, func(p piece) bool { return p.Look == look }) {
					return true
				}
			}
		}
	}
	return false
}

// comparedWhen is the base, and when the runs were made.
func comparedWhen(t compare.Table) []string {
	const minute = "2006-01-02 15:04"
	var started []time.Time
	for _, g := range t.Groups {
		for _, r := range g.Runs {
			started = append(started, r.Started.UTC())
		}
	}
	first, last := slices.MinFunc(started, time.Time.Compare).Format(minute), slices.MaxFunc(started, time.Time.Compare).Format(minute)
	when := "runs started " + first
	if last != first {
		when += " to " + last
	}
	when += " UTC"
	if len(t.Groups) == 1 {
		return []string{when}
	}
	base := t.Groups[0].Name
	if base != t.Groups[0].Label {
		base += ", " + t.Groups[0].Label
	}
	return []string{"base: " + base, when}
}

// finding is what the comparison says under one title; what is more than people
// read at once is folded away.
type finding struct {
	Title       string
	Lines, More []string
}

// readAtOnce is how many lines of a finding are not folded away.
const readAtOnce = 6

func foldedFinding(f report.Finding) finding {
	if len(f.Lines) <= readAtOnce+2 { // to fold two lines away saves nothing
		return finding{f.Title, f.Lines, nil}
	}
	return finding{f.Title, f.Lines[:readAtOnce], f.Lines[readAtOnce:]}
}
