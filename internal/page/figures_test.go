package page

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/result"
)

// jsonTable is what the JSON form of a comparison has of figures.
type jsonTable struct {
	Rows []struct {
		Of, Value string
		Cells     []*struct {
			Mean, Min, Max float64
			Values         []float64
			Ratio          *float64
			Difference     *struct{ P float64 }
			Words          string
		}
	}
}

func TestEveryFigureOfTheJSONIsInATable(t *testing.T) {
	for name, table := range comparisons(t) {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			must(t, result.EncodeJSON(&b, table))
			var read jsonTable
			must(t, json.Unmarshal(b.Bytes(), &read))
			p := parse(t, comparisonOf(t, table))
			whole, behind := p.wholeRows(), p.behind()
			for _, r := range read.Rows {
				name := compare.Row{Of: r.Of, Value: r.Value}.Name()
				for i, c := range r.Cells {
					if c == nil {
						continue
					}
					figures := []float64{c.Mean, c.Min, c.Max}
					if c.Ratio != nil {
						figures = append(figures, *c.Ratio)
					}
					lacks(t, name+" in the whole table", figures, whole[name]...)
					if c.Min == 0 && c.Max == 0 && behind[name] == nil {
						continue // no chart; there is no more to it than that it is 0
					}
					if c.Difference != nil {
						figures = append(figures, c.Difference.P)
					}
					row := behind[name][1+i]
					lacks(t, name+" behind its chart", append(figures, c.Values...), row)
					if !strings.Contains(textOf(row), c.Words) {
						t.Errorf("%s lacks %q", name, c.Words)
					}
				}
			}
		})
	}
}

// lacks tells which figures are not among the numbers of elements, exactly as they are.
func lacks(t *testing.T, what string, figures []float64, in ...*html.Node) {
	t.Helper()
	var has []float64
	for _, n := range in {
		for _, d := range (parsed{n}).all("data") {
			has = append(has, percentOf(t, attr(d, "value")))
			if textOf(d) == "" {
				t.Errorf("%s: %s cannot be read", what, attr(d, "value"))
			}
		}
	}
	for _, f := range figures {
		if !slices.Contains(has, f) {
			t.Errorf("%s: %g is not among %v", what, f, has)
		}
	}
}

// wholeRows are the rows of the whole table by figure, one for each part of it.
func (p parsed) wholeRows() map[string][]*html.Node {
	out := map[string][]*html.Node{}
	for _, w := range p.ofClass("div", "whole") {
		for _, tr := range (parsed{w}).all("tr") {
			name := textOf(parsed{tr}.all("th")[0])
			out[name] = append(out[name], tr)
		}
	}
	return out
}

// behind are the rows of the tables behind charts by figure, one for each group after the head.
func (p parsed) behind() map[string][]*html.Node {
	out := map[string][]*html.Node{}
	for _, f := range p.ofClass("div", "figure") {
		out[attr(f, "aria-label")] = parsed{f}.all("tr")
	}
	return out
}
