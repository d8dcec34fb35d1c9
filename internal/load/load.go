// Package load is the engine: it runs the jobs of a phase and reports what
// became of every operation that came due. It knows neither Redis nor
// histograms: operations go to a Target, outcomes to a Recorder.
//
//  1. Every job gets its workers; every worker its own Target and Recorder, so
//     that workers share nothing but the counter of an open loop.
//  2. Closed loop: a worker takes its own strided numbers (worker, worker +
//     workers, …), as fast as answers come.
//  3. Open loop: workers take the next number from one counter, wait until it
//     is due, and send. There is no dispatcher whose queue could hide waiting.
//     An operation later than its patience is recorded Unsent.
//  4. At the end of the phase, or when the context ends, no new operation is
//     sent; those in flight are waited for and recorded.
package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rankbench/rankbench/internal/plan"
	"github.com/rankbench/rankbench/internal/ranking"
)

// Target runs operations. A Target belongs to one worker and is used by it
// alone. Do returns when the answer, or the lack of one, is known; the context
// is never cancelled in mid-operation, since that would turn the tool's own
// haste into an error.
type Target interface {
	Do(ctx context.Context, op *ranking.Op) (ranking.Reply, error)
}

// Recorder takes outcomes. A Recorder belongs to one worker.
type Recorder interface {
	Record(Outcome)
}

// Outcome says what became of one operation: offsets from the start of the
// run on the monotonic clock.
type Outcome struct {
	Kind  ranking.Kind
	Due   time.Duration // planned; closed loop: when it was sent
	Taken time.Duration // a worker was free for it
	Sent  time.Duration
	Done  time.Duration // known
	Err   Class
}

// Latency is what a user would have waited: from when the operation was due if
// no worker was free then, otherwise from when it was sent. So the tool's own
// late timers are not charged to the server (Slip tells them), and waiting
// behind a slow server is never left out (coordinated omission).
func (o Outcome) Latency() time.Duration {
	if o.Taken > o.Due {
		return o.Done - o.Due
	}
	return o.Done - o.Sent
}

// Service is the time from sent to known.
func (o Outcome) Service() time.Duration { return o.Done - o.Sent }

// Slip is how much later than due the operation was sent though a worker was
// free: the tool's own lateness. ok is false where no worker was free.
func (o Outcome) Slip() (slip time.Duration, ok bool) {
	return o.Sent - o.Due, o.Taken <= o.Due && o.Err != Unsent
}

// Engine runs phases. Its fields are set before the first Run.
type Engine struct {
	Start    time.Time         // offset 0 of the run
	Classify func(error) Class // of an error of Target.Do, never nil
	// Worker gives the Target and the Recorder of a job's worker; called once
	// for each, before any of the phase's operations.
	Worker func(job plan.Job, worker int) (Target, Recorder)
}

// Claimed counts the operations that came due in the measured part of a phase,
// by kind, as the engine saw them: before any recording.
type Claimed [ranking.NumKinds]uint64

// Run runs one phase, which starts at offset from (usually now), and returns
// when every operation that was sent is known. When ctx ends, operations that
// came due by then but were not sent are recorded Unsent (open loop), and
// nothing more comes due.
func (e *Engine) Run(ctx context.Context, ph plan.Phase, from time.Duration) Claimed {
	p := &phaseRun{engine: e, from: from, end: from + ph.End(), measured: from + ph.Warmup}
	p.stopAt.Store(int64(p.end))
	defer context.AfterFunc(ctx, p.interrupt)()

	var workers []*worker
	for _, job := range ph.Jobs {
		next := new(atomic.Uint64)
		for i := range job.Workers {
			t, r := e.Worker(job, i)
			workers = append(workers, &worker{phaseRun: p, job: job, index: uint64(i), next: next, target: t, recorder: r})
		}
	}
	return runAll(ctx, workers)
}

func runAll(ctx context.Context, workers []*worker) Claimed {
	var wg sync.WaitGroup
	for _, w := range workers {
		wg.Go(func() { w.run(ctx) })
	}
	wg.Wait()
	var sum Claimed
	for _, w := range workers {
		sum[w.job.Kind] += w.claimed
	}
	return sum
}

func (e *Engine) now() time.Duration { return time.Since(e.Start) }

// phaseRun is what the workers of a phase share; only the atomics change.
type phaseRun struct {
	engine              *Engine
	from, end, measured time.Duration
	stopAt              atomic.Int64 // offset from which nothing comes due any more
	interrupted         atomic.Bool  // nothing is sent any more; set after stopAt
}

// interrupt ends the phase now. After its end, while a backlog is worked off,
// nothing more comes due in any case, but what is left is not sent any more.
func (p *phaseRun) interrupt() {
	p.stopAt.Store(int64(min(p.end, p.engine.now())))
	p.interrupted.Store(true)
}

func (p *phaseRun) stop() time.Duration { return time.Duration(p.stopAt.Load()) }
