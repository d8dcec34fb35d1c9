package expose_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"gopkg.in/yaml.v3"

	"github.com/rankbench/rankbench/internal/expose"
	"github.com/rankbench/rankbench/internal/result"
)

// dashboard is what is checked of configs/grafana-dashboard.json without a
// Prometheus; what its queries return, `make prometheus` checks.
type dashboard struct {
	Annotations struct {
		List []struct {
			Name, Expr string
			Target     query
		}
	}
	Templating struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
	Panels []panel
}

type panel struct {
	ID         int
	Type       string
	Title      string
	Datasource source
	GridPos    struct{ X, Y, W, H int }
	Targets    []query
	Panels     []panel // of a row that is folded
}

type query struct {
	RefID, Expr, Interval string
	Datasource            source
}

type source struct{ Type, UID string }

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal(readConfig(t, "grafana-dashboard.json"), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) == 0 || len(d.Annotations.List) == 0 || len(d.Templating.List) == 0 {
		t.Fatalf("%d panels, %d annotations, %d variables", len(d.Panels), len(d.Annotations.List), len(d.Templating.List))
	}
	return d
}

func readConfig(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../configs", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// all are the dashboard's panels, those of folded rows and the rows themselves included.
func (d dashboard) all() (panels []panel) {
	for _, p := range d.Panels {
		panels = append(append(panels, p), p.Panels...)
	}
	return panels
}

func TestEveryPanelOfTheDashboardHasAnIDAQueryAndPlace(t *testing.T) {
	ids := map[int]string{}
	for _, p := range readDashboard(t).all() {
		if was, taken := ids[p.ID]; taken || p.ID == 0 {
			t.Errorf("%s has the id %d, as %q has", p.Title, p.ID, was)
		}
		ids[p.ID] = p.Title
		if g := p.GridPos; g.W < 1 || g.H < 1 || g.X < 0 || g.Y < 0 || g.X+g.W > 24 {
			t.Errorf("%s lies at %+v, on a grid of 24 columns", p.Title, g)
		}
		if p.Type != "row" {
			checkQueries(t, p)
		}
	}
}

// checkQueries checks the queries of a panel. Their interval is the variable for
// the time between scrapes: Grafana takes $__rate_interval to be four of it.
func checkQueries(t *testing.T, p panel) {
	t.Helper()
	var refs []string
	for _, q := range p.Targets {
		if strings.TrimSpace(q.Expr) == "" || q.Interval != "$step" || q.Datasource != p.Datasource || p.Datasource != (source{"prometheus", "${datasource}"}) {
			t.Errorf("%s asks %+v of %+v", p.Title, q, p.Datasource)
		}
		if slices.Contains(refs, q.RefID) {
			t.Errorf("%s has two queries %s", p.Title, q.RefID)
		}
		refs = append(refs, q.RefID)
	}
	if len(refs) == 0 {
		t.Errorf("%s has no query", p.Title)
	}
}

func TestPanelsOfTheDashboardDoNotOverlap(t *testing.T) {
	panels := readDashboard(t).all()
	for i, p := range panels {
		for _, q := range panels[:i] {
			a, b := p.GridPos, q.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%q lies on %q: %+v, %+v", p.Title, q.Title, a, b)
			}
		}
	}
}

// TestAnnotationsAreWrittenForOldAndNewGrafanas: up to 11 it reads expr, later ones
// read the target.
func TestAnnotationsAreWrittenForOldAndNewGrafanas(t *testing.T) {
	for _, a := range readDashboard(t).Annotations.List {
		if a.Expr == "" || a.Expr != a.Target.Expr {
			t.Errorf("%s: %q and %q", a.Name, a.Expr, a.Target.Expr)
		}
	}
}

// expressions are all that the dashboard and the rules ask for, by where they stand;
// records are the names that the rules make.
func expressions(t *testing.T) (byPlace map[string]string, records []string) {
	t.Helper()
	byPlace = map[string]string{}
	d := readDashboard(t)
	for _, p := range d.all() {
		for _, q := range p.Targets {
			byPlace["panel "+p.Title+" "+q.RefID] = q.Expr
		}
	}
	for _, a := range d.Annotations.List {
		byPlace["annotation "+a.Name] = a.Expr
	}
	for _, v := range d.Templating.List {
		if q, ok := v.Query.(map[string]any); ok {
			byPlace["variable "+v.Name] = labelValues.ReplaceAllString(q["query"].(string), "$1")
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Record, Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(readConfig(t, "prometheus-rules.yml"), &rules); err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			byPlace["rule "+r.Record+r.Alert] = r.Expr
			if r.Record != "" {
				records = append(records, r.Record)
			}
		}
	}
	return byPlace, records
}

func TestDashboardAndRulesAskForMetricsThatThereAre(t *testing.T) {
	byPlace, records := expressions(t)
	known := append(exposed(t), records...)
	known = append(known, "up", "ALERTS") // Prometheus's own
	for place, expr := range byPlace {
		names := metricsIn(expr)
		if len(names) == 0 {
			t.Errorf("%s asks for no metric: %s", place, expr)
		}
		for _, name := range names {
			if !slices.Contains(known, name) {
				t.Errorf("%s asks for %s, which there is not", place, name)
			}
		}
	}
}

func TestVariablesThatTheDashboardAsksForAreDefined(t *testing.T) {
	defined := []string{"__rate_interval", "__interval", "__range"} // Grafana's own
	for _, v := range readDashboard(t).Templating.List {
		defined = append(defined, v.Name)
	}
	byPlace, _ := expressions(t)
	for place, expr := range byPlace {
		for _, m := range variable.FindAllString(expr, -1) {
			if !strings.HasPrefix(place, "rule ") && !slices.Contains(defined, m[1:]) {
				t.Errorf("%s has %s", place, m)
			}
		}
	}
}

// exposed are the names of all that a run of every kind shows, as series have them.
func exposed(t *testing.T) (names []string) {
	t.Helper()
	e := expose.New(expose.Info{Version: "v", Scenario: "s", Phases: []result.RunPhase{{Name: "p", DurationS: 1, Ops: []string{"set"}}}})
	e.Interval(result.Interval{ToS: 1, Cells: []result.Cell{cell(t, "set", 1, 100)}, Nodes: nodeSamples(), Self: &result.SelfSample{HostCPUPct: 1}})
	families, err := e.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetType() == dto.MetricType_HISTOGRAM {
			names = append(names, f.GetName()+"_bucket", f.GetName()+"_sum", f.GetName()+"_count")
			continue
		}
		names = append(names, f.GetName())
	}
	return names
}

// What is not a metric's name in an expression: what is in quotes, braces and
// brackets, lists of labels, variables; functions, keywords and units of time.
var (
	labelValues = regexp.MustCompile(`^label_values\((.*), *\w+\)$`)
	variable    = regexp.MustCompile(`\$\w+`)
	nameless    = []*regexp.Regexp{
		regexp.MustCompile(`"(\\.|[^"\\])*"`),
		regexp.MustCompile(`\{[^}]*\}`),
		regexp.MustCompile(`\[[^\]]*\]`),
		regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right) *\([^)]*\)`),
		variable,
		regexp.MustCompile(`\w+ *\(`),
		regexp.MustCompile(`\b(and|or|unless|bool|offset)\b`),
		regexp.MustCompile(`\b[0-9.]+[a-z]*`),
	}
	metricName = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`)
)

func metricsIn(expr string) []string {
	for _, x := range nameless {
		expr = x.ReplaceAllString(expr, " ")
	}
	return metricName.FindAllString(expr, -1)
}

func TestMetricsInAnExpressionAreFound(t *testing.T) {
	const expr = `sum by (le, op) (rate(a_total{x="}b[", y=~"c|d"}[$__rate_interval])) / 2.5 > 0 or on (job) e:f_g:sum{} unless h offset 1m`
	if got, want := metricsIn(expr), []string{"a_total", "e:f_g:sum", "h"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
