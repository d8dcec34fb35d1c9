//go:build unix && prometheus

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/result"
)

// configs is where the files for Prometheus and Grafana are, which these tests hold
// to a real Prometheus: `make prometheus`.
const configs = "../../configs"

// tool is the path of a program of Prometheus; without it the test fails in CI, and
// is skipped elsewhere.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("no %s on PATH: .ci/install prometheus installs it", name)
	}
	t.Skipf("no %s on PATH: `make prometheus` installs it; what Prometheus makes of configs/ is not tested", name)
	return ""
}

func TestPromtoolTakesConfigurationRulesAndTheirTests(t *testing.T) {
	for _, args := range [][]string{
		{"check", "config", filepath.Join(configs, "prometheus.yml")},
		{"check", "rules", filepath.Join(configs, "prometheus-rules.yml")},
		{"test", "rules", alertTests},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		out, err := exec.CommandContext(ctx, tool(t, "promtool"), args...).CombinedOutput()
		cancel()
		if err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func TestEveryAlertIsTestedToFireAndNotToFireInAHealthyRun(t *testing.T) {
	fires, quiet := testedAlerts(t)
	for _, r := range readRules(t) {
		if r.Alert == "" {
			continue
		}
		if !fires[r.Alert] || !quiet[r.Alert] {
			t.Errorf("%s: tested to fire %v, not to fire in a healthy run %v", r.Alert, fires[r.Alert], quiet[r.Alert])
		}
		if !strings.HasPrefix(r.Alert, "Rankbench") || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s has labels %v, annotations %v", r.Alert, r.Labels, r.Annotations)
		}
	}
}

// TestPrometheusSeesADrill lets a real Prometheus scrape a real drill, and asks it
// everything that the rules and the dashboard ask.
func TestPrometheusSeesADrill(t *testing.T) {
	clustertest.Require(t)
	tool(t, "prometheus")
	d := startScraped(t)
	s := seen{instance: d.wait(t)}
	s.server, s.begun = startPrometheus(t, s.instance), time.Now()
	s.run = d.summary(t)
	s.ended = time.Now()

	t.Run("every query of the dashboard returns data", func(t *testing.T) { s.checkDashboard(t) })
	t.Run("every rule is sound and has data", func(t *testing.T) { s.checkRules(t) })
	t.Run("the alerts of a drill fire, and no others of some", func(t *testing.T) { s.checkAlerts(t) })
	t.Run("operations are the summary's", func(t *testing.T) { s.checkOperations(t) })
	t.Run("latencies sum up to the summary's", func(t *testing.T) { s.checkLatencies(t) })
	t.Run("the rate on the dashboard is the summary's", func(t *testing.T) { s.checkRate(t) })
	t.Run("outages are the summary's", func(t *testing.T) { s.checkOutages(t) })
	t.Run("the primary is the summary's", func(t *testing.T) { s.checkPrimary(t) })
	t.Run("the load ended when it was planned to", func(t *testing.T) { s.checkPlannedEnd(t) })
}

// seen is a drill that is over, and the Prometheus that has scraped it.
type seen struct {
	server       promServer
	instance     string
	begun, ended time.Time // of the scraping
	run          result.Summary
}

// at is the wall clock at an offset of the run.
func (s seen) at(offset float64) time.Time {
	return s.run.Started.Add(time.Duration(offset * float64(time.Second)))
}

// between asks for every second of the scraped time.
func (s seen) between(t *testing.T, expr string) []promSeries {
	t.Helper()
	return s.server.between(t, expr, s.begun, s.ended)
}

// last is the last value of each series of a metric, by one of its labels. The drill
// outlasts its load by 5 s, so that some scrapes have seen the load's last figures.
func (s seen) last(t *testing.T, selector, label string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, x := range s.server.at(t, "last_over_time("+selector+"[5m])", s.ended) {
		key := x.Metric[label]
		if _, twice := values[key]; twice {
			t.Fatalf("%s has two series with %s=%q", selector, label, key)
		}
		values[key] = x.last()
	}
	if len(values) == 0 {
		t.Fatalf("%s has no data", selector)
	}
	return values
}

// checkDashboard fills in the dashboard's variables by its own queries for them, and
// asks each of its queries for each operation and node that it is repeated for.
func (s seen) checkDashboard(t *testing.T) {
	d := readDashboard(t)
	values := s.variables(t, d)
	if want := s.ops(); !slices.Equal(values["op"], want) {
		t.Errorf("the variable op has %v, want %v", values["op"], want)
	}
	if len(values["node"]) != len(s.run.Nodes) {
		t.Errorf("the variable node has %v, want %d", values["node"], len(s.run.Nodes))
	}
	asked := 0
	for _, q := range d.queries() {
		for _, expr := range filled(t, q.expr, values) {
			asked++
			s.expectData(t, q.place, expr, q.legends)
		}
	}
	t.Logf("%d queries in %d forms", len(d.queries()), asked)
}

// variables are what a user may choose: job and instance have one value each here.
func (s seen) variables(t *testing.T, d promDashboard) map[string][]string {
	t.Helper()
	values := map[string][]string{}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		selector, label := v.labelValues(t)
		for _, expr := range filled(t, selector, values) {
			values[v.Name] = s.server.labelValues(t, expr, label, s.begun, s.ended)
		}
		if len(values[v.Name]) == 0 {
			t.Fatalf("the variable %s has no value", v.Name)
		}
	}
	if !slices.Equal(values["job"], []string{"rankbench"}) || !slices.Equal(values["instance"], []string{s.instance}) {
		t.Fatalf("job %v, instance %v, want rankbench on %s", values["job"], values["instance"], s.instance)
	}
	return values
}

// expectData wants a figure somewhere in the scraped time, and every label that the
// legend names.
func (s seen) expectData(t *testing.T, place, expr string, legends []string) {
	t.Helper()
	found := s.between(t, expr)
	if !slices.ContainsFunc(found, promSeries.hasData) {
		t.Errorf("%s has no data: %s", place, expr)
	}
	for _, x := range found {
		for _, label := range legends {
			if x.Metric[label] == "" {
				t.Errorf("%s: the legend names %s, which %v lacks: %s", place, label, x.Metric, expr)
			}
		}
	}
}

// checkRules asks for what is recorded, and for what each alert compares with its
// threshold; and whether Prometheus could evaluate all of it.
func (s seen) checkRules(t *testing.T) {
	rules := readRules(t)
	for _, r := range rules {
		if r.Record != "" {
			s.expectData(t, r.Record, r.Record, nil)
			continue
		}
		s.expectData(t, r.Alert, r.withoutThreshold(t), nil)
	}
	health := s.server.ruleHealth(t)
	if len(health) != len(rules) {
		t.Errorf("Prometheus has %d rules, the file %d", len(health), len(rules))
	}
	for name, problem := range health {
		if problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// checkAlerts: the failover puts Set out and fails more than 1 % of a minute's Sets,
// and a replica hangs for 8 s. Nothing of what there is no reason for fires.
func (s seen) checkAlerts(t *testing.T) {
	fired := map[string]bool{}
	for _, x := range s.between(t, `ALERTS{alertstate="firing"}`) {
		fired[x.Metric["alertname"]] = true
		fired[x.Metric["alertname"]+" "+x.Metric["op"]] = true
	}
	for _, want := range []string{"RankbenchOutage set", "RankbenchErrors set", "RankbenchNodeDown"} {
		if !fired[want] {
			t.Errorf("%s has not fired: %v", want, fired)
		}
	}
	for _, never := range []string{"RankbenchGone", "RankbenchUnreadable", "RankbenchTwoPrimaries", "RankbenchReplicaLag"} {
		if fired[never] {
			t.Errorf("%s has fired", never)
		}
	}
	t.Logf("fired: %v", fired)
}

func (s seen) ops() []string {
	var ops []string
	for op := range s.run.Phases[0].Ops {
		ops = append(ops, op)
	}
	slices.Sort(ops)
	return ops
}

// of are the summary's figures of an operation: of the phase and of its warm-up.
func (s seen) of(op string) []result.OpSummary {
	var all []result.OpSummary
	for _, p := range s.run.Phases {
		all = append(all, p.Ops[op], p.WarmupOps[op])
	}
	return all
}

// checkOperations: both count the same outcomes, so there is no tolerance.
func (s seen) checkOperations(t *testing.T) {
	for _, op := range s.ops() {
		want := map[string]float64{}
		for _, o := range s.of(op) {
			want["ok"] += float64(o.OK)
			want["unsent"] += float64(o.Unsent)
			for class, n := range o.Errors {
				want[class] += float64(n)
			}
		}
		got := s.last(t, fmt.Sprintf("rankbench_operations_total{op=%q}", op), "class")
		for class, n := range got {
			if n != want[class] {
				t.Errorf("%s %s: Prometheus has %g, the summary %g", op, class, n, want[class])
			}
			delete(want, class)
		}
		if len(want) != 0 {
			t.Errorf("%s: Prometheus lacks %v", op, want)
		}
		t.Logf("%s: %v", op, got)
	}
}

// checkLatencies: both have the exact sums of the same latencies, in whole
// microseconds; the summary's mean is rounded once more.
func (s seen) checkLatencies(t *testing.T) {
	counts := s.last(t, "rankbench_operation_latency_seconds_count", "op")
	sums := s.last(t, "rankbench_operation_latency_seconds_sum", "op")
	for _, op := range s.ops() {
		count, sum := 0.0, 0.0
		for _, o := range s.of(op) {
			count += float64(o.OK)
			sum += float64(o.OK) * o.LatencyUS.Mean / 1e6
		}
		if counts[op] != count || math.Abs(sums[op]-sum) > 0.001*sum {
			t.Errorf("%s: Prometheus has %g of %g s in all, the summary %g of %g s", op, counts[op], sums[op], count, sum)
		}
	}
}

// checkRate compares the mean of the dashboard's line with the summary's rate. The
// line's first whole window ends 4 s into the phase, which has 44 s, and its last one
// lacks what was not yet scraped: 10 %.
func (s seen) checkRate(t *testing.T) {
	p := s.run.Phases[0]
	for _, op := range s.ops() {
		expr := fmt.Sprintf(`sum by (op) (rate(rankbench_operations_total{class="ok", op=%q}[4s]))`, op)
		line := s.server.between(t, expr, s.at(p.FromS+4), s.at(p.ToS))
		if len(line) != 1 {
			t.Fatalf("%s: %d series", op, len(line))
		}
		got, want := line[0].mean(), p.Ops[op].RPS
		if math.Abs(got-want) > 0.1*want {
			t.Errorf("%s: the dashboard's mean is %.1f/s, the summary's %.1f/s", op, got, want)
		}
		t.Logf("%s: %.1f/s and %.1f/s", op, got, want)
	}
}

// Both tell an outage by the buckets of 10 ms in which there were successes. The
// exporter gets them interval by interval, so that a success may be told to it
// after the interval that it was in: some buckets for each outage.
const outageTolerance = 0.1

// The gauge is set once a second, once the gap is as long as the threshold, and is
// scraped once a second: late by the threshold and up to 2 s, and likewise at the end.
const gaugeTolerance = 2.5

func (s seen) checkOutages(t *testing.T) {
	want, n := map[string]float64{}, map[string]float64{}
	for _, o := range s.run.Outages {
		want[o.Op] += o.ToS - o.FromS
		n[o.Op]++
	}
	if want["set"] == 0 {
		t.Fatalf("set was not out: %+v", s.run.Outages)
	}
	total := s.last(t, "rankbench_outage_seconds_total", "op")
	on := map[string]float64{}
	for _, x := range s.between(t, "rankbench_outage == 1") {
		on[x.Metric["op"]] = float64(len(x.Values))
	}
	for _, op := range s.ops() {
		if math.Abs(total[op]-want[op]) > outageTolerance*max(n[op], 1) {
			t.Errorf("%s: out for %.2f s in Prometheus, for %.2f s in the summary", op, total[op], want[op])
		}
		if math.Abs(on[op]-want[op]) > gaugeTolerance*n[op] {
			t.Errorf("%s: the gauge was on for %g s, the outages are %.2f s", op, on[op], want[op])
		}
		t.Logf("%s: %.2f s in Prometheus, gauge on for %g s, %.2f s in the summary in %g outages", op, total[op], on[op], want[op], n[op])
	}
}

func (s seen) checkPrimary(t *testing.T) {
	var want []string
	for _, n := range s.run.Nodes {
		if roles := n.Roles; len(roles) > 0 && roles[len(roles)-1].Role == "primary" {
			want = append(want, n.ID)
		}
	}
	var got []string
	for node, is := range s.last(t, `rankbench_node_role{role="primary"}`, "node") {
		if is == 1 {
			got = append(got, node)
		}
	}
	if len(want) != 1 || !slices.Equal(got, want) {
		t.Errorf("Prometheus has the primary %v, the summary %v", got, want)
	}
}

// checkPlannedEnd: the phases of a run that is not late end when they are planned to,
// but for what it does before the first and at the end of the last: 2 s.
func (s seen) checkPlannedEnd(t *testing.T) {
	planned := s.last(t, "rankbench_run_planned_end_timestamp_seconds", "job")["rankbench"]
	ended := s.at(s.run.Phases[0].ToS)
	if off := planned - float64(ended.UnixMilli())/1000; math.Abs(off) > 2 {
		t.Errorf("planned %.1f s from when it ended", off)
	}
}
