package audit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/audit"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/ranking"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The driver's pool looks for a dead server once a second, and notices
		// only then that it was closed.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// shared is a store of a few members whose operations are atomic.
type shared struct {
	ranking *ranking.Ranking
	scores  []atomic.Uint64
}

func newShared(r *ranking.Ranking) *shared { return &shared{r, make([]atomic.Uint64, r.Members)} }

func (s *shared) Do(_ context.Context, op *ranking.Op) (ranking.Reply, error) {
	id, _ := s.ranking.MemberID(op.Member)
	if op.Kind == ranking.Set {
		s.scores[id].Store(uint64(op.Score))
	}
	return ranking.Reply{Score: float64(s.scores[id].Load()), Found: true}, nil
}

func (s *shared) all() scores {
	out := scores{}
	for id := range s.scores {
		out[string(s.ranking.AppendMember(nil, int64(id)))] = float64(s.scores[id].Load())
	}
	return out
}

// TestNothingIsLostByWorkersOnTheSameMembers: however Sets of a member overlap
// in fact, a store that keeps everything is found to have kept everything, and
// no read of it is stale.
func TestNothingIsLostByWorkersOnTheSameMembers(t *testing.T) {
	const workers, ops = 16, 4000
	for _, members := range []int64{1, 3, 50} {
		l, r := newLedger(t, members, 1000, clock())
		store := newShared(r)
		var wg sync.WaitGroup
		for i := range uint64(workers) {
			w := l.Wrap(store, classify)
			wg.Go(func() {
				var op ranking.Op
				s := ranking.NewStream(i, 1)
				for range ops {
					op.Kind = ranking.Kind(s.Below(2))
					op.SetMember(r, int64(s.Below(uint64(members))))
					op.Score = float64(s.Below(1000))
					if _, err := w.Do(t.Context(), &op); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		got, err := l.Check(t.Context(), store.all(), audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Lost != 0 || got.StaleReads != 0 || got.Missing != 0 || got.Checked != members || got.Acknowledged < workers*ops/3 {
			t.Errorf("%d members: %s", members, text(t, got))
		}
	}
}

// answer is a target that gives a fixed answer.
type answer struct {
	err   error
	reply ranking.Reply
	calls int
}

func (a *answer) Do(context.Context, *ranking.Op) (ranking.Reply, error) {
	a.calls++
	return a.reply, a.err
}

// attempted is one that tells its attempts.
type attempted struct {
	answer
	failed []error
}

func (a *attempted) Attempts() ([]error, bool) { return a.failed, true }

func set(t *testing.T, w load.Target, r *ranking.Ranking, id int64, score float64) {
	t.Helper()
	op := ranking.Op{Kind: ranking.Set, Score: score}
	op.SetMember(r, id)
	_, _ = w.Do(t.Context(), &op)
}

// classed is an error of a class.
type classed load.Class

func (c classed) Error() string { return load.Class(c).String() }

func classOf(err error) load.Class {
	var c classed
	if errors.As(err, &c) {
		return load.Class(c)
	}
	return load.Refused
}

func TestFateOfAFailedSet(t *testing.T) {
	broken := &net.OpError{Op: "read", Err: syscall.EHOSTUNREACH}
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	type row struct {
		name          string
		target        load.Target
		indeterminate uint64
	}
	rows := []row{
		{"refused, attempts unknown", &answer{err: classed(load.Refused)}, 1},
		{"refused in one attempt", &attempted{answer{err: classed(load.Refused)}, nil}, 0},
		{"refused in each attempt", &attempted{answer{err: classed(load.Refused)}, []error{classed(load.Refused), classed(load.ReadOnly)}}, 0},
		{"refused after a timeout", &attempted{answer{err: classed(load.Refused)}, []error{classed(load.Timeout), classed(load.Refused)}}, 1},
		{"refused when dialled", &attempted{answer{err: dial}, nil}, 0},
		{"unreachable when the answer was read", &attempted{answer{err: broken}, nil}, 1},
	}
	for c := load.ReadOnly; c < load.NumClasses; c++ {
		n := uint64(0)
		switch c {
		case load.Reset, load.Timeout, load.Missing, load.Unsent, load.Other:
			n = 1
		}
		rows = append(rows, row{"one attempt: " + c.String(), &attempted{answer{err: classed(c)}, nil}, n})
	}
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			l, r := newLedger(t, 3, 3, clock())
			set(t, l.Wrap(tt.target, classOf), r, 1, 2)
			got, err := l.Check(t.Context(), scores{}, audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got.Indeterminate != tt.indeterminate || got.Checked != int64(tt.indeterminate) || got.Acknowledged != 0 || got.Lost != 0 {
				t.Errorf("%s", text(t, got))
			}
		})
	}
}

// TestAnAttemptLeftBehindIsAGhost: the driver gave up waiting, tried again and
// was answered; the first attempt came after a later Set.
func TestAnAttemptLeftBehindIsAGhost(t *testing.T) {
	l, r := newLedger(t, 1, 10, clock())
	set(t, l.Wrap(&attempted{failed: []error{classed(load.Timeout)}}, classOf), r, 0, 3)
	set(t, l.Wrap(&answer{}, classOf), r, 0, 4)
	got, err := l.Check(t.Context(), scores{"player:000000000": 3}, audit.Options{})
	if err != nil || got.Ghosts != 1 || got.Lost != 0 || got.Acknowledged != 2 || got.Indeterminate != 0 {
		t.Errorf("%v, %s", err, text(t, got))
	}
}

func TestSetsThatCannotBeAuditedAreNotSent(t *testing.T) {
	l, r := newLedger(t, 10, 10, clock())
	for _, op := range []ranking.Op{
		{Member: "player:000000010"}, {Member: "somebody"}, {Member: ""},
		{Member: "player:000000001", Score: 10}, {Member: "player:000000001", Score: -1},
		{Member: "player:000000001", Score: 0.5}, {Member: "player:000000001", Score: math.NaN()},
		{Member: "player:000000001", Score: 1 << 32},
	} {
		a := &answer{}
		if _, err := l.Wrap(a, classify).Do(t.Context(), &op); err == nil || a.calls != 0 {
			t.Errorf("%q to %v: error %v, sent %d times", op.Member, op.Score, err, a.calls)
		}
	}
	r2 := *r
	r2.ScoreSpread = 1<<32 + 1
	if _, err := audit.New(&r2, clock()); err == nil || !strings.Contains(err.Error(), "score_spread") {
		t.Errorf("a spread of more than 32 bits: %v", err)
	}
}

// held answers when it is told to.
type held struct{ sent, answer chan struct{} }

func (h held) Do(context.Context, *ranking.Op) (ranking.Reply, error) {
	close(h.sent)
	<-h.answer
	return ranking.Reply{}, nil
}

func TestCheckFreezesTheLedgerAndWaitsForAnswers(t *testing.T) {
	l, r := newLedger(t, 10, 10, clock())
	h := held{make(chan struct{}), make(chan struct{})}
	slow, late := l.Wrap(h, classify), &answer{}
	var wg sync.WaitGroup
	wg.Go(func() { set(t, slow, r, 1, 5) })
	<-h.sent
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := l.Check(ctx, scores{}, audit.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a Set in flight: %v", err)
	}
	op := ranking.Op{Kind: ranking.Set, Score: 7}
	for _, id := range []int64{1, 2} { // beside the one in flight, and alone
		op.SetMember(r, id)
		if _, err := l.Wrap(late, classify).Do(t.Context(), &op); !errors.Is(err, audit.ErrFrozen) || late.calls != 0 {
			t.Errorf("a Set after the freeze: %v, sent %d times", err, late.calls)
		}
	}
	op.Kind = ranking.Get
	if _, err := l.Wrap(late, classify).Do(t.Context(), &op); err != nil || late.calls != 1 {
		t.Errorf("a Get after the freeze: %v, sent %d times", err, late.calls)
	}
	close(h.answer)
	wg.Wait()
	got, err := l.Check(t.Context(), scores{"player:000000001": 5}, audit.Options{})
	if err != nil || got.Acknowledged != 1 || got.Checked != 1 || got.Lost != 0 || got.Overlapped != 0 {
		t.Errorf("%v, %s", err, text(t, got))
	}
}

// TestNoSetSlipsPastTheFreeze: workers go on writing while Check runs; each
// Set is either refused or part of what was read.
func TestNoSetSlipsPastTheFreeze(t *testing.T) {
	for range 20 {
		l, r := newLedger(t, 4, 1000, clock())
		store := newShared(r)
		var sent atomic.Uint64
		var begun, wg sync.WaitGroup
		for i := range uint64(4) {
			w := l.Wrap(store, classify)
			begun.Add(1)
			wg.Go(func() {
				s := ranking.NewStream(i, 1)
				for n := 0; ; n++ {
					op := ranking.Op{Kind: ranking.Set, Score: float64(s.Below(1000))}
					op.SetMember(r, int64(s.Below(4)))
					if _, err := w.Do(context.Background(), &op); err != nil {
						return
					}
					sent.Add(1)
					if n == 0 {
						begun.Done()
					}
				}
			})
		}
		begun.Wait()
		got, err := l.Check(t.Context(), live{store}, audit.Options{})
		wg.Wait()
		if err != nil || got.Lost != 0 || got.Acknowledged != sent.Load() {
			t.Fatalf("%v, %d Sets, %s", err, sent.Load(), text(t, got))
		}
	}
}

// live reads what is in a store now.
type live struct{ *shared }

func (l live) Scores(ctx context.Context, members []string) ([]float64, []bool, error) {
	return l.all().Scores(ctx, members)
}

// failingReader fails after so many reads.
type failingReader struct {
	scores
	left atomic.Int64
}

func (f *failingReader) Scores(ctx context.Context, members []string) ([]float64, []bool, error) {
	if f.left.Add(-1) < 0 {
		return nil, nil, errTimeout
	}
	return f.scores.Scores(ctx, members)
}

func TestCheckTellsProgressExamplesAndErrors(t *testing.T) {
	const members = 100
	l, r := newLedger(t, members, members, func() time.Duration { return 1234 * time.Millisecond })
	w := l.Wrap(&answer{}, classify)
	for id := range r.Members {
		set(t, w, r, id, float64(id))
	}
	var told []int64
	o := audit.Options{Batch: 10, Progress: func(done, of int64) { told = append(told, done, of) }}
	broken := &failingReader{scores: scores{}}
	broken.left.Store(3)
	got, err := l.Check(t.Context(), broken, o)
	if !errors.Is(err, errTimeout) || !strings.Contains(fmt.Sprint(err), "of 100 members") || got.Checked != 30 || got.Lost != 30 {
		t.Errorf("%v, %s", err, text(t, got))
	}
	told = nil
	if got, err = l.Check(t.Context(), scores{}, o); err != nil {
		t.Fatal(err)
	}
	if len(told) != 22 || told[0] != 0 || told[20] != members || told[21] != members {
		t.Errorf("progress was %v", told)
	}
	if got.Lost != members || got.Missing != members || len(got.Examples) != 20 || *got.LostFromS != 1.23 || got.LostWindowS != 0 {
		t.Errorf("%s", text(t, got))
	}
	for i, e := range got.Examples {
		if want := string(r.AppendMember(nil, int64(i))); e.Member != want || e.Want != float64(i) || e.Got != nil || e.AtS != 1.23 {
			t.Errorf("example %d is %+v", i, e)
		}
	}
}
