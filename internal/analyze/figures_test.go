package analyze

import (
	"reflect"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

func TestFiguresOfSeveralRuns(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	run := func(rps, service, client float64, lost int64) result.Summary {
		return result.Summary{
			Phases:         []result.Phase{{Name: "one", Ops: map[string]result.OpSummary{"set": {Due: 10, OK: 8, RPS: rps}}}},
			Outages:        []result.Outage{{Op: "set", DurationS: 0.6, ServiceS: at(0.6), ClientS: at(0)}, {Op: "set", DurationS: service + client + 1, PausedS: 1, ServiceS: at(service), ClientS: at(client)}},
			ServiceOutages: []result.ServiceOutage{{What: "write", DurationS: service}},
			Levels:         map[string]result.Level{"set": {BaselineRPS: at(rps), DegradedRPS: at(rps / 2), BelowHalfS: at(service), ErrorsAbove1PctS: at(client)}},
			Audit:          &result.Audit{Lost: lost, Indeterminate: 1},
			Events:         []result.Event{{AtS: 1, Kind: result.StepBegins, Subject: "test_failover"}, {AtS: 4.5, Kind: result.StepRecovered, Subject: "test_failover"}},
		}
	}
	got := map[string]result.Figure{}
	for _, f := range Figures([]result.Summary{run(100, 2, 1, 0), run(300, 4, 3, 6)}) {
		got[f.Name] = f
	}
	for name, want := range map[string]result.Figure{
		"set.rps":               {Unit: "1/s", Values: []float64{100, 300}, Mean: 200, Min: 100, Max: 300},
		"set.failed":            {Values: []float64{2, 2}, Mean: 2, Min: 2, Max: 2},
		"set.outage":            {Unit: "s", Values: []float64{3, 7}, Mean: 5, Min: 3, Max: 7},
		"set.outage.service":    {Unit: "s", Values: []float64{2, 4}, Mean: 3, Min: 2, Max: 4},
		"set.outage.client":     {Unit: "s", Values: []float64{1, 3}, Mean: 2, Min: 1, Max: 3},
		"service.write.outage":  {Unit: "s", Values: []float64{2, 4}, Mean: 3, Min: 2, Max: 4},
		"service.read.outage":   {Unit: "s", Values: []float64{0, 0}},
		"set.baseline":          {Unit: "1/s", Values: []float64{100, 300}, Mean: 200, Min: 100, Max: 300},
		"set.degraded":          {Unit: "1/s", Values: []float64{50, 150}, Mean: 100, Min: 50, Max: 150},
		"set.below_half":        {Unit: "s", Values: []float64{2, 4}, Mean: 3, Min: 2, Max: 4},
		"set.errors_above_1pct": {Unit: "s", Values: []float64{1, 3}, Mean: 2, Min: 1, Max: 3},
		"lost_writes":           {Values: []float64{0, 6}, Mean: 3, Max: 6},
		"step.test_failover":    {Unit: "s", Values: []float64{3.5, 3.5}, Mean: 3.5, Min: 3.5, Max: 3.5},
	} {
		want.Name = name
		if !reflect.DeepEqual(got[name], want) {
			t.Errorf("%+v, want %+v", got[name], want)
		}
	}
	if _, ok := got["set.restored"]; ok {
		t.Error("a figure that no run has")
	}
}
