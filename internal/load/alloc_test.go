package load

import (
	"context"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/plan"
	"github.com/rankbench/rankbench/internal/ranking"
)

// limited is a target and recorder that do nothing, and end the phase after so many operations.
type limited struct {
	left   int
	cancel context.CancelFunc
}

func (l *limited) Do(context.Context, *ranking.Op) (ranking.Reply, error) {
	if l.left--; l.left == 0 {
		l.cancel()
	}
	return ranking.Reply{}, nil
}

func (*limited) Record(Outcome) {}

// TestEngineAllocatesNothingPerOperation counts the allocations of whole
// phases: what a phase needs is a handful, and thousands of operations, of
// which hundreds wait for a timer, must not add to it.
func TestEngineAllocatesNothingPerOperation(t *testing.T) {
	const ops, setup = 2000, 100
	for _, tt := range []struct {
		name string
		job  plan.Job
		d    time.Duration
	}{
		{"closed loop", closedJob(1), time.Hour},
		{"open loop, behind its schedule", openJob(1, 1e9, ops*time.Nanosecond, time.Hour), time.Hour},
		{"open loop, waiting for every operation", openJob(1, 4000, 500*ms, time.Hour), time.Hour},
		{"open loop, all unsent", openJob(1, 1e9, ops*time.Nanosecond, -time.Hour), time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			allocs := testing.AllocsPerRun(2, func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				l := &limited{left: ops, cancel: cancel}
				e := Engine{Start: time.Now(), Classify: func(error) Class { return Other }, Worker: func(plan.Job, int) (Target, Recorder) { return l, l }}
				claimed := e.Run(ctx, plan.Phase{Duration: tt.d, Jobs: []plan.Job{tt.job}}, 0)
				if n := claimed[tt.job.Kind]; n < ops {
					t.Errorf("only %d operations", n)
				}
			})
			if allocs > setup {
				t.Errorf("%v allocations in a phase of %d operations", allocs, ops)
			}
		})
	}
}

func BenchmarkEngine(b *testing.B) {
	b.ReportAllocs()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	l := &limited{left: b.N, cancel: cancel}
	e := Engine{Start: time.Now(), Classify: func(error) Class { return Other }, Worker: func(plan.Job, int) (Target, Recorder) { return l, l }}
	e.Run(ctx, plan.Phase{Duration: time.Hour, Jobs: []plan.Job{closedJob(1)}}, 0)
}
