package audit

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/ranking"
)

func TestWordHoldsWhatItWasGiven(t *testing.T) {
	for _, spread := range []int64{1, 2, 3, 100_000, 1 << 22, 1<<31 + 1, maxScores} {
		y, w := newLayout(spread), uint64(doubted)
		for _, score := range []uint32{0, uint32(spread - 1), uint32(spread / 2)} {
			for _, at := range []time.Duration{-time.Hour, 0, 9 * time.Millisecond, 10 * time.Millisecond, 24 * time.Hour, 61 * 24 * time.Hour, 1000 * 24 * time.Hour} {
				before := w
				w = y.acknowledge(w, score, tickOf(at))
				want := min(max(at, 0), time.Duration(maxTick-1)*tick).Truncate(tick)
				if y.score(w) != score || timeOf(ticks(w)) != want || ticks(w) == 0 || w&(inFlight|open|doubted) != doubted {
					t.Errorf("spread %d: %d at %v is the word %x: %d at %v", spread, score, at, w, y.score(w), timeOf(ticks(w)))
				}
				if w == before && spread <= 1<<22 {
					t.Errorf("spread %d: an acknowledgement left the word as it was", spread)
				}
			}
		}
	}
}

type nop struct{}

func (nop) Do(context.Context, *ranking.Op) (ranking.Reply, error) { return ranking.Reply{}, nil }

func setOne(t *testing.T, l *Ledger, w load.Target, id, score uint64) {
	op := ranking.Op{Kind: ranking.Set, Score: float64(score)}
	op.SetMember(l.ranking, int64(id))
	if _, err := w.Do(t.Context(), &op); err != nil {
		t.Error(err)
	}
}

func setMany(t *testing.T, l *Ledger, workers, ops int) {
	var wg sync.WaitGroup
	for i := range uint64(workers) {
		w, s := l.Wrap(nop{}, nil), ranking.NewStream(i, 0)
		wg.Go(func() {
			for range ops {
				setOne(t, l, w, s.Below(uint64(l.ranking.Members)), s.Below(100))
			}
		})
	}
	wg.Wait()
}

// TestTableHoldsOnlyMembersWithAnOpenQuestion: it never has more entries than
// members, or Sets possible than workers, and a Set alone closes the question.
func TestTableHoldsOnlyMembersWithAnOpenQuestion(t *testing.T) {
	const members, workers = 5, 8
	r, err := ranking.New(ranking.Spec{Key: "k", Members: members, ScoreSpread: 100, MemberFormat: "%d", Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(r, func() time.Duration { return time.Second })
	if err != nil {
		t.Fatal(err)
	}
	setMany(t, l, workers, 5000)
	if len(l.table) > members || len(l.spare) > members {
		t.Errorf("%d entries and %d spare ones of %d members", len(l.table), len(l.spare), members)
	}
	for id, e := range l.table {
		if len(e.acked) < 2 || len(e.acked) > workers || e.flights != 0 {
			t.Errorf("member %d: %+v", id, e)
		}
	}
	w := l.Wrap(nop{}, nil)
	for id := range uint64(members) {
		setOne(t, l, w, id, 7)
		if v := l.words[id].Load(); v&(inFlight|open|doubted) != 0 || l.layout.score(v) != 7 {
			t.Errorf("member %d has the word %x after a Set alone", id, v)
		}
	}
	if len(l.table) != 0 || len(l.doubts) != 0 {
		t.Errorf("%d entries and %d doubts are left", len(l.table), len(l.doubts))
	}
}

func TestDoubtsAreKeptOnce(t *testing.T) {
	l := &Ledger{doubts: map[uint32][]uint32{}}
	for _, score := range []uint32{5, 1, 5, 9, 1, 5} {
		l.doubt(3, score)
	}
	if got := l.doubts[3]; len(got) != 3 || got[0] != 1 || got[1] != 5 || got[2] != 9 {
		t.Errorf("doubts are %v", got)
	}
}
