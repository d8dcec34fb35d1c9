//go:build unix && prometheus

package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// promRule is a rule of configs/prometheus-rules.yml.
type promRule struct {
	Record, Alert, Expr string
	Labels, Annotations map[string]string
}

func readRules(t *testing.T) (rules []promRule) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []promRule }
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "prometheus-rules.yml")), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	if len(rules) == 0 {
		t.Fatal("no rule")
	}
	return rules
}

var threshold = regexp.MustCompile(`(?s)^(.+) (==|!=|>|>=|<|<=) [0-9.]+$`)

// withoutThreshold is what an alert compares with its threshold.
func (r promRule) withoutThreshold(t *testing.T) string {
	t.Helper()
	m := threshold.FindStringSubmatch(strings.TrimSpace(r.Expr))
	if m == nil {
		t.Fatalf("%s is no expression, a comparison, and a number: %s", r.Alert, r.Expr)
	}
	return m[1]
}

// alertTests are the rules' tests, which promtool runs.
const alertTests = "testdata/prometheus/alerts.yml"

// testedAlerts are the alerts that the rules' tests want to fire, and those that
// they want not to in the healthy run.
func testedAlerts(t *testing.T) (fires, quiet map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(alertTests)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tests []struct {
			Name   string
			Alerts []struct {
				Name     string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	fires, quiet = map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, a := range test.Alerts {
			switch {
			case len(a.Expected) > 0:
				fires[a.Name] = true
			case test.Name == "a healthy run":
				quiet[a.Name] = true
			}
		}
	}
	return fires, quiet
}

// promDashboard is what asks for data in configs/grafana-dashboard.json.
type promDashboard struct {
	Annotations struct {
		List []struct {
			Name, Expr, TitleFormat string
		}
	}
	Templating struct{ List []promVariable }
	Panels     []promPanel
}

type promVariable struct {
	Name, Type, Definition string
}

type promPanel struct {
	Title   string
	Targets []struct{ RefID, Expr, LegendFormat string }
	Panels  []promPanel
}

func readDashboard(t *testing.T) (d promDashboard) {
	t.Helper()
	if err := json.Unmarshal([]byte(readFile(t, "grafana-dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// promQuery is a query of the dashboard, and the labels that its legend shows.
type promQuery struct {
	place, expr string
	legends     []string
}

func (d promDashboard) queries() (all []promQuery) {
	for _, a := range d.Annotations.List {
		all = append(all, promQuery{"annotation " + a.Name, a.Expr, legendsOf(a.TitleFormat)})
	}
	return append(all, queriesOf(d.Panels)...)
}

func queriesOf(panels []promPanel) (all []promQuery) {
	for _, p := range panels {
		for _, q := range p.Targets {
			all = append(all, promQuery{p.Title + " " + q.RefID, q.Expr, legendsOf(q.LegendFormat)})
		}
		all = append(all, queriesOf(p.Panels)...)
	}
	return all
}

var legend = regexp.MustCompile(`{{ *(\w+) *}}`)

func legendsOf(format string) (labels []string) {
	for _, m := range legend.FindAllStringSubmatch(format, -1) {
		labels = append(labels, m[1])
	}
	return labels
}

var labelValuesQuery = regexp.MustCompile(`^label_values\((.+), *(\w+)\)$`)

func (v promVariable) labelValues(t *testing.T) (selector, label string) {
	t.Helper()
	m := labelValuesQuery.FindStringSubmatch(v.Definition)
	if m == nil {
		t.Fatalf("the variable %s is not by label_values: %s", v.Name, v.Definition)
	}
	return m[1], m[2]
}

// filled are the forms of an expression with Grafana's variables and ours filled in:
// one for each value of each variable that it names. Where it is scraped every
// second, Grafana's interval is a second at the least, and the one for rates four.
func filled(t *testing.T, expr string, values map[string][]string) []string {
	t.Helper()
	forms := []string{strings.NewReplacer("$__rate_interval", "4s", "$__interval", "1s", "$__range", "60s").Replace(expr)}
	for name, of := range values {
		var next []string
		for _, f := range forms {
			if !strings.Contains(f, "$"+name) {
				next = append(next, f)
				continue
			}
			for _, v := range of {
				next = append(next, strings.ReplaceAll(f, "$"+name, v))
			}
		}
		forms = next
	}
	for _, f := range forms {
		if strings.Contains(f, "$") {
			t.Fatalf("a variable of %s is not known", f)
		}
	}
	return forms
}
