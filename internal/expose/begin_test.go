package expose_test

import (
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/expose"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/result"
)

func TestEveryClassOfAPhasesOperationsIsThereBeforeAnythingIsCounted(t *testing.T) {
	e := expose.New(expose.Info{Phases: []result.RunPhase{{Ops: []string{"set"}}, {Ops: []string{"set", "get"}}}})
	families := scrape(t, serve(t, e))
	want := map[string]float64{}
	for class := range load.Class(load.NumClasses) {
		for _, op := range []string{"set", "get"} {
			want["class="+class.String()+",op="+op] = 0
		}
	}
	expectSeries(t, families, "rankbench_operations_total", want)
	for _, name := range []string{"rankbench_operation_latency_seconds", "rankbench_operation_service_seconds"} {
		if n := len(families[name].GetMetric()); n != 2 {
			t.Errorf("%s: %d operations, want 2", name, n)
		}
	}
}

func TestPlannedEndIsWhenAllPhasesAreOver(t *testing.T) {
	before := time.Now()
	e := expose.New(expose.Info{Phases: []result.RunPhase{{WarmupS: 30, DurationS: 600}, {DurationS: 90.5}}})
	after := time.Now()
	got := series(t, scrape(t, serve(t, e)), "rankbench_run_planned_end_timestamp_seconds")[""]
	from, to := seconds(before)+720.5-.001, seconds(after)+720.5 // whole milliseconds
	if got < from || got > to {
		t.Errorf("got %.3f, want %.3f to %.3f", got, from, to)
	}
	if f := scrape(t, serve(t, expose.New(expose.Info{})))["rankbench_run_planned_end_timestamp_seconds"]; f != nil {
		t.Errorf("without phases: %v", f)
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
