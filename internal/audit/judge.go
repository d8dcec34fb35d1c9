package audit

import (
	"time"

	"github.com/rankbench/rankbench/internal/ranking"
)

// judge compares what was read of one member with what may be there. A member of
// which no Set was acknowledged has, unless the ranking is fresh, any score that an
// earlier run gave it.
func (t *tally) judge(l *Ledger, id uint32, score float64, found, fresh bool) {
	e, doubts := &t.entry, l.known(id, &t.entry)
	if len(e.acked) > 1 {
		t.overlapped++
	}
	if !found {
		t.missing++
	}
	switch {
	case found && e.has(score):
	case found && len(e.acked) == 0 && score == l.ranking.InitialScore(int64(id)):
	case found && has(doubts, score):
		t.ghosts++
	case len(e.acked) > 0:
		t.lose(l.loss(id, e.acked[len(e.acked)-1], score, found))
	case found && fresh:
		t.changed++
	}
	t.checked++
}

func (l *Ledger) loss(id uint32, last ack, score float64, found bool) (time.Duration, example) {
	at := timeOf(last.at)
	loss := Loss{Member: string(l.ranking.AppendMember(nil, int64(id))), Want: float64(last.score), AtS: at.Seconds()}
	if found {
		loss.Got = &score
	}
	return at, example{loss, id}
}

// known fills into with the possible last acknowledged Sets of a member, and
// returns the scores in doubt. Nothing of it changes while the ledger is frozen.
func (l *Ledger) known(id uint32, into *entry) (doubts []uint32) {
	into.acked = into.acked[:0]
	w := l.words[id].Load()
	if w&(open|doubted) != 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		doubts = l.doubts[id]
	}
	if w&open != 0 {
		if e := l.table[id]; e != nil { // gone where the last of refused Sets closed it just now
			into.acked = append(into.acked, e.acked...)
		}
	}
	if len(into.acked) == 0 && ticks(w) != 0 {
		into.acked = append(into.acked, ack{score: l.layout.score(w), at: ticks(w)})
	}
	return doubts
}

// written says whether a Set of the member may have been applied.
func (l *Ledger) written(id int64) bool {
	w := l.words[id].Load()
	return ticks(w) != 0 || w&doubted != 0
}

// batch is the members of one read.
type batch struct {
	ids     []uint32
	members []string
	buf     []byte
}

func (b *batch) add(r *ranking.Ranking, id int64) {
	from := len(b.buf)
	b.buf = r.AppendMember(b.buf, id)
	b.ids = append(b.ids, uint32(id))
	b.members = append(b.members, ranking.View(b.buf[from:]))
}

func (b *batch) clear() { b.ids, b.members, b.buf = b.ids[:0], b.members[:0], b.buf[:0] }
