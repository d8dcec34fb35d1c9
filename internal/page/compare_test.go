package page

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/report"
)

// ofClass are the elements of a name and a class.
func (p parsed) ofClass(name, class string) []*html.Node {
	return slices.DeleteFunc(p.all(name), func(n *html.Node) bool {
		return !slices.Contains(strings.Fields(attr(n, "class")), class)
	})
}

// chartOf is the chart of a figure, nil without one.
func (p parsed) chartOf(r compare.Row) *parsed {
	for _, f := range p.all("figure") {
		if textOf(parsed{f}.all("h3")[0]) == r.Name() {
			return &parsed{f}
		}
	}
	return nil
}

// percentOf reads a number, also "43.210%".
func percentOf(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	must(t, err)
	return v
}

// TestComparisonSaysWhatTheOtherFormsSay: no sentence is the page's own.
func TestComparisonSaysWhatTheOtherFormsSay(t *testing.T) {
	for name, table := range comparisons(t) {
		t.Run(name, func(t *testing.T) {
			p := parse(t, comparisonOf(t, table))
			var got, want []string
			for _, f := range p.ofClass("div", "finding") {
				got = append(got, textOf(parsed{f}.all("p")[0]))
				for _, l := range (parsed{f}).all("li") {
					got = append(got, textOf(l))
				}
			}
			said := report.Say(table)
			for _, f := range said.Findings {
				want = append(append(want, f.Title), f.Lines...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("it says %q, want %q", got, want)
			}
			text := textOf(p.all("main")[0])
			for _, note := range append(said.Notes, said.Signs) {
				if !strings.Contains(text, note) {
					t.Errorf("the page lacks %q", note)
				}
			}
			if h := textOf(p.all("h1")[0]); h != said.Heading {
				t.Errorf("the heading is %q", h)
			}
		})
	}
}

func TestVerdictsAndRatiosStandAtTheBars(t *testing.T) {
	seen := map[compare.Verdict]bool{}
	for name, table := range comparisons(t) {
		p := parse(t, comparisonOf(t, table))
		for _, r := range table.Rows {
			chart := p.chartOf(r)
			if chart == nil {
				continue
			}
			for i, row := range chart.ofClass("div", "row")[:len(r.Cells)] {
				c, text := r.Cells[i], strings.Join(strings.Fields(textOf(row)), " ")
				switch {
				case c == nil:
				case c.Difference == nil:
					if strings.Contains(text, "×") || len(table.Groups) > 1 && i == 0 && !strings.Contains(text, " base") {
						t.Errorf("%s: %s: the base says %q", name, r.Name(), text)
					}
				default:
					seen[c.Difference.Verdict] = true
					words := report.VerdictSign(c.Difference.Verdict) + " " + shortVerdicts[c.Difference.Verdict]
					if !strings.Contains(text, words) || !strings.Contains(text, ratioText(*c.Ratio)) {
						t.Errorf("%s: %s: %q lacks the ratio, or %q", name, r.Name(), text, words)
					}
				}
			}
		}
	}
	if len(seen) < 4 {
		t.Errorf("only %v were seen", seen)
	}
}

func TestMarksStandAtTheBarsAndAreExplained(t *testing.T) {
	p := parse(t, comparisonOf(t, compared(t, kinds["few"]()...)))
	bars := textOf(p.chartOf(compare.Row{Of: "set", Value: "rps"}).ofClass("div", "bars")[0])
	outages := strings.Join(strings.Fields(textOf(p.chartOf(compare.Row{Of: "set", Value: "outage"}).ofClass("div", "bars")[0])), " ")
	if !strings.Contains(bars, "*") || !strings.Contains(bars, "†‡") || !strings.Contains(bars, "n=2") || strings.Contains(outages, "†") || !strings.Contains(outages, "n=1") {
		t.Errorf("rates: %q, outages: %q", bars, outages)
	}
	text := textOf(p.all("main")[0])
	for _, want := range []string{
		"* the client was the bottleneck: ", "(results/wide-1)", "† interrupted: ", "‡ killed: ", "# a step failed: ", "(results/middle-2)",
		"the pool was waited on", "interrupted after 60.0 s", "test_failover: refused",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestGroupsAreTold(t *testing.T) {
	p := parse(t, comparisonOf(t, compared(t, kinds["few"]()...)))
	var rows []string
	for _, tr := range (parsed{p.ofClass("div", "groups")[0]}).all("tr") {
		var cells []string
		for n := range tr.ChildNodes() {
			if n.Type == html.ElementNode {
				cells = append(cells, textOf(n))
			}
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	want := []string{"group|runs", "score_spread 100000 base|3 *", "score_spread 100|3 †‡", "score_spread 5000|3 #"}
	if !slices.Equal(rows, want) {
		t.Errorf("%q", rows)
	}
	if n := len(parsed{p.ofClass("div", "runs")[0]}.all("tr")); n != 1+9 {
		t.Errorf("%d rows of runs", n)
	}
	text := textOf(p.all("main")[0])
	for _, want := range []string{"members1000000", "replicas2"} {
		if !strings.Contains(text, want) {
			t.Errorf("what is the same lacks %q", want)
		}
	}
}

func TestManyGroupsHaveTablesThatFit(t *testing.T) {
	table := compared(t, kinds["many"]()...)
	p := parse(t, comparisonOf(t, table))
	whole := p.ofClass("div", "whole")
	for _, w := range whole {
		heads := parsed{w}.all("thead")[0]
		if n := len(parsed{heads}.all("th")); n > 2+groupsAtOnce || !strings.Contains(textOf(heads), " base") {
			t.Errorf("a table has %d columns: %s", n, textOf(heads))
		}
	}
	if len(whole) != 4 {
		t.Errorf("%d tables of 19 groups and the base", len(whole))
	}
	for _, bars := range p.ofClass("div", "bars") {
		if n := len(parsed{bars}.ofClass("div", "row")); n != 21 {
			t.Errorf("a chart has %d rows", n)
		}
	}
	if len(p.ofClass("ul", "said")) > 0 {
		t.Error("nineteen sentences stand under a chart")
	}
}

type fullDisk struct{}

var errFullDisk = errors.New("no space left")

func (fullDisk) Write([]byte) (int, error) { return 0, errFullDisk }

func TestAComparisonThatCannotBeWrittenIsTold(t *testing.T) {
	if err := Comparison(fullDisk{}, compared(t, kinds["single"]()...)); !errors.Is(err, errFullDisk) {
		t.Error(err)
	}
}
