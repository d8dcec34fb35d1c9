package audit_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/audit"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/ranking"
)

// instant answers at once.
type instant struct{ score float64 }

func (i *instant) Do(_ context.Context, op *ranking.Op) (ranking.Reply, error) {
	if op.Kind == ranking.Set {
		i.score = op.Score
	}
	return ranking.Reply{Score: i.score, Rank: 1, Rows: 1, Found: true}, nil
}

func newLedger(t testing.TB, members, spread int64, now func() time.Duration) (*audit.Ledger, *ranking.Ranking) {
	t.Helper()
	r, err := ranking.New(ranking.Spec{
		Key: "audited", Members: members, ScoreSpread: spread, MemberFormat: ranking.DefaultMemberFormat, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := audit.New(r, now)
	if err != nil {
		t.Fatal(err)
	}
	return l, r
}

// clock is what the engine's is.
func clock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

func other(error) load.Class { return load.Other }

func TestSetAndGetAllocateNothing(t *testing.T) {
	l, r := newLedger(t, 1000, 100, clock())
	w := l.Wrap(&instant{}, other)
	for _, k := range []ranking.Kind{ranking.Set, ranking.Get} {
		op, n := ranking.Op{Kind: k}, int64(0)
		if allocs := testing.AllocsPerRun(1000, func() {
			op.SetMember(r, n%r.Members)
			op.Score = float64(n % r.ScoreSpread)
			n++
			_, _ = w.Do(t.Context(), &op)
		}); allocs != 0 {
			t.Errorf("a %v allocates %v times", k, allocs)
		}
	}
}

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestTenMillionMembersTake100MB with a million Sets, and with 100,000 whose
// fate is unknown: an outage's worth.
func TestTenMillionMembersTake100MB(t *testing.T) {
	const members, unknown, limit = 10_000_000, 100_000, 100 << 20
	before := heap()
	l, r := newLedger(t, members, 100_000, func() time.Duration { return time.Hour })
	w := l.Wrap(&instant{}, other)
	var op ranking.Op
	set := func(w load.Target, id int64) {
		op.SetMember(r, id)
		op.Score = float64(id % r.ScoreSpread)
		_, _ = w.Do(t.Context(), &op)
	}
	for id := int64(0); id < members; id += 10 {
		set(w, id)
	}
	empty := heap() - before
	failing := l.Wrap(failing{}, other)
	for n := range int64(unknown) {
		set(failing, n*members/unknown)
	}
	full := heap() - before
	t.Logf("%.1f MB, and with %d unanswered Sets %.1f MB", float64(empty)/1e6, unknown, float64(full)/1e6)
	if full > limit {
		t.Errorf("%d bytes, more than %d", full, limit)
	}
	runtime.KeepAlive(l)
}

type failing struct{}

func (failing) Do(context.Context, *ranking.Op) (ranking.Reply, error) {
	return ranking.Reply{}, context.DeadlineExceeded
}

// BenchmarkDo is an operation with and without the ledger: the difference is
// what it adds. A Set reads the clock besides, which is the caller's (BenchmarkClock).
// Members are drawn at random: 1,000 stay in the processor's cache, of 10
// million each is a miss.
func BenchmarkDo(b *testing.B) {
	for _, kind := range []ranking.Kind{ranking.Set, ranking.Get} {
		for _, members := range []int64{1000, 10_000_000} {
			name := fmt.Sprintf("%v/%d", kind, members)
			l, r := newLedger(b, members, 1000, noon)
			b.Run(name+"/bare", func(b *testing.B) { benchmarkDo(b, &instant{}, r, kind) })
			b.Run(name+"/ledger", func(b *testing.B) { benchmarkDo(b, l.Wrap(&instant{}, other), r, kind) })
		}
	}
}

func noon() time.Duration { return 12 * time.Hour }

func benchmarkDo(b *testing.B, w load.Target, r *ranking.Ranking, kind ranking.Kind) {
	op, s := ranking.Op{Kind: kind}, ranking.NewStream(1, 1)
	b.ReportAllocs()
	ctx := b.Context()
	for b.Loop() {
		op.SetMember(r, int64(s.Below(uint64(r.Members))))
		_, _ = w.Do(ctx, &op)
	}
}

func BenchmarkClock(b *testing.B) {
	now := clock()
	for b.Loop() {
		now()
	}
}
