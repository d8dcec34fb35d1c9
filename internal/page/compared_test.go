package page

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/result"
)

// drilled is a drill as compare is given it. Its figures are those of every drill
// here times part, in other directions where people would expect it.
func drilled(folder string, part float64, conditions ...compare.Condition) compare.Run {
	op := func(rps, us float64) result.OpSummary {
		return result.OpSummary{Due: 100_000, OK: 100_000 - uint64(150*part), RPS: rps * part, LatencyUS: result.Quantiles{P50: us / part, P99: 7.3 * us / part, Max: 91 * us / part}}
	}
	level := func(rps float64) result.Level {
		return result.Level{BaselineRPS: new(rps * part), DegradedRPS: new(1.07 * rps * part), RestoredRPS: new(0.98 * rps / part)}
	}
	node := func(role string, cpu, bytes float64) result.Node {
		return result.Node{Roles: []result.RoleSpan{{Role: role}}, CPUPct: new(cpu * part), NetInBytesPerMin: new(bytes / part), NetOutBytesPerMin: new(3 * bytes * part)}
	}
	nodes := []result.Node{node("primary", 61, 4.1e8), node("replica", 37, 2.2e8)}
	return compare.Run{
		Folder: "results/" + folder, Parent: "results", Conditions: append(compare.Conditions{{Key: "scenario", Value: "failover"}, {Key: "members", Value: "1000000"}, {Key: "replicas", Value: "2"}}, conditions...),
		Summary: result.Summary{
			Scenario: "failover", Started: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), Complete: true, DurationS: 60,
			Phases: []result.Phase{{Name: "mixed", ToS: 60, Ops: map[string]result.OpSummary{"set": op(24_512, 312), "get": op(7_100, 1_920)}, Nodes: nodes}},
			Outages: []result.Outage{
				{Op: "set", FromS: 20, DurationS: 2.28 * part, ServiceS: new(2.17 * part), ClientS: new(2.28*part - 2.17*part)},
				{Op: "get", FromS: 20, DurationS: 1.1 / part, ServiceS: new(0.8 / part), ClientS: new(0.3 / part)},
			},
			ServiceOutages: []result.ServiceOutage{{What: "write", DurationS: 2.17 * part}},
			Levels:         map[string]result.Level{"set": level(25_000), "get": level(7_400)},
			Stretches:      []result.Stretch{{Name: "baseline", Nodes: nodes}},
			Client:         result.Client{CPUPct: 142 * part, CPUUSPerCommand: 12.34 / part},
			Audit:          &result.Audit{Acknowledged: 1000, Lost: int64(3.4 * part)},
			Events:         []result.Event{{AtS: 20, Kind: result.StepBegins, Subject: "test_failover"}, {AtS: 20 + 9.5*part, Kind: result.StepRecovered, Subject: "test_failover"}},
		},
	}
}

func spread(v string) compare.Condition { return compare.Condition{Key: "score_spread", Value: v} }

// drills are runs of one group, one for each part.
func drills(name string, c compare.Condition, parts ...float64) []compare.Run {
	var out []compare.Run
	for i, p := range parts {
		out = append(out, drilled(fmt.Sprintf("%s-%d", name, i+1), p, c))
	}
	return out
}

func compared(t *testing.T, runs ...compare.Run) compare.Table {
	t.Helper()
	table, err := compare.Compare(runs, compare.Options{})
	must(t, err)
	return table
}

// kinds are what people compare: repeats, enough runs to tell, too few with doubtful
// ones among them, one against one, and many.
var kinds = map[string]func() []compare.Run{
	"repeats": func() []compare.Run { return drills("run", spread("100"), 1, 1.02, 0.97) },
	"enough": func() []compare.Run {
		return append(drills("wide", spread("100000"), 1, 1.01, 0.98, 1.02), drills("narrow", spread("100"), 1.31, 1.29, 1.34, 1.3)...)
	},
	"few": doubtful,
	"single": func() []compare.Run {
		return append(drills("a", spread("100000"), 1), drills("b", spread("100"), 2.2)...)
	},
	"many": manyGroups,
}

// comparisons are one of each kind.
func comparisons(t *testing.T) map[string]compare.Table {
	t.Helper()
	out := map[string]compare.Table{}
	for name, runs := range kinds {
		out[name] = compared(t, runs()...)
	}
	return out
}

// doubtful are three groups with a run of each mark, and one without an outage.
func doubtful() []compare.Run {
	out := append(drills("wide", spread("100000"), 1, 1.01, 0.98), drills("narrow", spread("100"), 1.31, 1.29, 1.34)...)
	out = append(out, drills("middle", spread("5000"), 1.015, 0.99, 1.03)...)
	out[0].Summary.Client = result.Client{CPUPct: 195, Bottleneck: true, Reason: "the pool was waited on"}
	out[4].Summary.Interrupted = true
	out[5].Summary.Complete = false
	out[7].Summary.FailedSteps = []string{"test_failover: refused"}
	out[8].Summary.Outages = nil // nothing was out, so there is nothing to divide
	return out
}

// manyGroups are twenty with long labels.
func manyGroups() []compare.Run {
	var out []compare.Run
	for i := range 20 {
		for j, p := range []float64{1, 1.02, 0.99} {
			part := p * (0.6 + 0.07*float64(i))
			out = append(out, drilled(fmt.Sprintf("g%02d-%d", i, j), part, spread(fmt.Sprint(100*(i+1))),
				compare.Condition{Key: "find_by_order.workers", Value: fmt.Sprint(2 * i)}, compare.Condition{Key: "client.max_retry_backoff", Value: fmt.Sprintf("%dms", 8*i)}))
		}
	}
	return out
}

// comparisonOf makes the page of a comparison.
func comparisonOf(t *testing.T, table compare.Table) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, Comparison(&b, table))
	return b.Bytes()
}
