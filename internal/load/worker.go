package load

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rankbench/rankbench/internal/plan"
	"github.com/rankbench/rankbench/internal/ranking"
)

type worker struct {
	*phaseRun
	job      plan.Job
	index    uint64
	next     *atomic.Uint64 // of the job's open loop
	target   Target
	recorder Recorder
	op       ranking.Op
	claimed  uint64 // measured operations that came due
	timer    *time.Timer
}

func (w *worker) run(ctx context.Context) {
	if w.job.Schedule == nil {
		w.closed(ctx)
		return
	}
	w.open(ctx)
}

// closed sends one operation after the other; each comes due when it is sent.
func (w *worker) closed(ctx context.Context) {
	detached := context.WithoutCancel(ctx)
	last := w.engine.now()
	for n := w.index; last < w.stop(); n += uint64(w.job.Workers) {
		w.job.Source.Op(n, &w.op)
		sent := w.engine.now()
		o := w.do(detached, Outcome{Kind: w.job.Kind, Due: sent, Taken: sent, Sent: sent})
		last = o.Done
		if o.Err != OK {
			if !w.sleepUntil(ctx, last+w.job.ErrorPause) {
				return // the interrupt may not have set the end yet
			}
			last = w.engine.now()
		}
	}
}

// open takes the next number of the job until none is due any more.
func (w *worker) open(ctx context.Context) {
	detached := context.WithoutCancel(ctx)
	for {
		n := w.next.Add(1) - 1
		due, ok := w.job.Schedule.Due(n)
		if !ok {
			return
		}
		o := Outcome{Kind: w.job.Kind, Due: w.from + due, Taken: w.engine.now()}
		if !w.sleepUntil(ctx, o.Due) && o.Due > w.engine.now() {
			return // interrupted before it came due; later numbers are due later still
		}
		if w.tooLate(o) {
			w.unsent(o)
			continue
		}
		w.job.Source.Op(n, &w.op)
		o.Sent = w.engine.now()
		w.do(detached, o)
	}
}

// tooLate says whether the operation is not sent any more: it waited for a
// worker longer than its patience, or the run was interrupted.
func (w *worker) tooLate(o Outcome) bool {
	return o.Taken-o.Due > w.job.Patience || w.interrupted.Load()
}

func (w *worker) unsent(o Outcome) {
	if o.Due > w.stop() {
		return // taken before, due after the interrupt
	}
	now := w.engine.now()
	o.Sent, o.Done, o.Err = now, now, Unsent
	w.record(o)
}

func (w *worker) do(ctx context.Context, o Outcome) Outcome {
	_, err := w.target.Do(ctx, &w.op)
	o.Done = w.engine.now()
	if err != nil {
		o.Err = w.engine.Classify(err)
	}
	w.record(o)
	return o
}

func (w *worker) record(o Outcome) {
	if o.Due >= w.measured {
		w.claimed++
	}
	w.recorder.Record(o)
}

// sleepUntil waits until offset at or the end of ctx; false says that ctx ended first.
func (w *worker) sleepUntil(ctx context.Context, at time.Duration) bool {
	wait := at - w.engine.now()
	if wait <= 0 {
		return true
	}
	if w.timer == nil {
		w.timer = time.NewTimer(wait)
	} else {
		w.timer.Reset(wait)
	}
	select {
	case <-w.timer.C:
		return true
	case <-ctx.Done():
		w.timer.Stop()
		return false
	}
}
