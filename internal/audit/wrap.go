package audit

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/ranking"
)

// worker is a target that tells the ledger what it does.
type worker struct {
	ledger    *Ledger
	target    load.Target
	attempter Attempter // the target, where it is one
	classify  func(error) load.Class

	// Written before the end of a flight, and read by Check, which has seen the
	// end of all flights.
	acknowledged, indeterminate uint64
	missing, stale              atomic.Uint64 // reads have no flight
	_                           [64]byte      // off the next worker's cache line
}

var _ load.Target = (*worker)(nil)

// Wrap returns t with the ledger before it. Like t it belongs to one worker.
// classify names the errors of t.Do; see Attempter for what t may know besides.
// A Set of what is no member or no score of the ranking, and any Set after
// Check has begun, is refused with an error and not sent. Reads go on.
func (l *Ledger) Wrap(t load.Target, classify func(error) load.Class) load.Target {
	w := &worker{ledger: l, target: t, classify: classify}
	w.attempter, _ = t.(Attempter)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.workers = append(l.workers, w)
	return w
}

// Do runs one operation.
func (w *worker) Do(ctx context.Context, op *ranking.Op) (ranking.Reply, error) {
	switch op.Kind {
	case ranking.Set:
		return w.set(ctx, op)
	case ranking.Get:
		return w.get(ctx, op)
	}
	reply, err := w.target.Do(ctx, op)
	if err != nil {
		w.failedRead(err)
	}
	return reply, err
}

func (w *worker) set(ctx context.Context, op *ranking.Op) (ranking.Reply, error) {
	l := w.ledger
	id, ok := l.ranking.MemberID(op.Member)
	score := uint32(op.Score)
	if !ok || float64(score) != op.Score || int64(score) >= l.ranking.ScoreSpread {
		return ranking.Reply{}, fmt.Errorf("audit: set %q to %v: no such member or score in the ranking", op.Member, op.Score)
	}
	f, err := l.enter(uint32(id), score)
	if err != nil {
		return ranking.Reply{}, err
	}
	reply, err := w.target.Do(ctx, op)
	is := w.fateOf(err)
	switch {
	case is&acknowledged != 0:
		w.acknowledged++
	case is&unknown != 0:
		w.indeterminate++
	}
	l.settle(f, is)
	return reply, err
}

// get compares what a Get finds, where that is certain: the member was written
// in this run, and none of its Sets was in flight beside the Get. A member
// never written has the score of an earlier run, which the ledger does not know.
func (w *worker) get(ctx context.Context, op *ranking.Op) (ranking.Reply, error) {
	l := w.ledger
	id, ok := l.ranking.MemberID(op.Member)
	if !ok || l.frozen.Load() {
		return w.target.Do(ctx, op)
	}
	before := l.words[id].Load()
	reply, err := w.target.Do(ctx, op)
	switch {
	case err != nil:
		w.failedRead(err)
	case before&inFlight == 0 && ticks(before) != 0 && l.stale(uint32(id), before, reply.Score):
		w.stale.Add(1)
	}
	return reply, err
}

func (w *worker) failedRead(err error) {
	if w.classify(err) == load.Missing {
		w.missing.Add(1)
	}
}
