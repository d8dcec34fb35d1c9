package audit

import "slices"

// entry is a member of which Sets overlapped: while some are in flight, and
// then as long as it is open which of the acknowledged ones was the last.
type entry struct {
	begun   uint64 // flights so far, which numbers them
	flights int    // on their way
	acked   []ack  // flights that no acknowledged one followed, the latest last
}

// ack is an acknowledged Set.
type ack struct {
	score, at uint32 // at is a tick
	begun     uint64 // flights that had begun by its end
}

// end notes that a flight is over, acknowledged. It supersedes every Set that
// ended before it began; those that are left overlap each other, so that there
// are never more than workers. What was acknowledged before the entry was made
// is superseded by any of its flights.
func (e *entry) end(number uint64, a ack) {
	e.acked = slices.DeleteFunc(e.acked, func(b ack) bool { return b.begun < number })
	e.acked = append(e.acked, a)
}

func (e *entry) has(score float64) bool {
	return slices.ContainsFunc(e.acked, func(a ack) bool { return float64(a.score) == score })
}

// enterOverlap is enter for a member that was not alone a moment ago.
func (l *Ledger) enterOverlap(id, score uint32) flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	word := &l.words[id]
	for {
		w := word.Load()
		switch {
		case w&open != 0: // such words change under the mutex only
			word.Store(w | inFlight)
			return l.table[id].begin(id, score)
		case w&inFlight != 0:
			if word.CompareAndSwap(w, w|open) {
				l.table[id] = l.newEntry()
				return l.table[id].begin(id, score)
			}
		case word.CompareAndSwap(w, w|inFlight):
			return flight{id: id, score: score, before: w, number: ordinary}
		}
	}
}

// newEntry is the entry of a member with one ordinary flight on its way.
func (l *Ledger) newEntry() *entry {
	e := &entry{}
	if n := len(l.spare); n > 0 {
		e, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	*e = entry{begun: ordinary, flights: 1, acked: e.acked[:0]}
	return e
}

func (e *entry) begin(id, score uint32) flight {
	e.begun++
	e.flights++
	return flight{id: id, score: score, number: e.begun}
}

// settleOverlap is settle for a member with an entry. The word shows the
// latest acknowledgement, and changes with each, as it does on the ordinary path.
func (l *Ledger) settleOverlap(f flight, is fate, at uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, w := l.table[f.id], l.words[f.id].Load()
	e.flights--
	if is&unknown != 0 {
		w |= doubted
	}
	if is&acknowledged != 0 {
		e.end(f.number, ack{score: f.score, at: at, begun: e.begun})
		w = l.layout.acknowledge(w, f.score, at)
	}
	if e.flights == 0 {
		w &^= inFlight
		if len(e.acked) <= 1 { // the latest, if any; the word shows it
			w &^= open
			l.drop(f.id, e)
		}
	}
	l.words[f.id].Store(w)
}

// maxSpare bounds the entries kept for use again: more members than workers
// rarely overlap at once.
const maxSpare = 1024

func (l *Ledger) drop(id uint32, e *entry) {
	delete(l.table, id)
	if len(l.spare) < maxSpare {
		l.spare = append(l.spare, e)
	}
}

// doubt notes a score that the member may have now or get at any time.
func (l *Ledger) doubt(id, score uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	scores := l.doubts[id]
	if i, ok := slices.BinarySearch(scores, score); !ok {
		l.doubts[id] = slices.Insert(scores, i, score)
	}
}

// stale says whether a Get cannot have found what it found: since w was the
// member's word, before the Get was sent, no Set was acknowledged and none is
// in flight, and got is neither the last acknowledged score nor one in doubt.
func (l *Ledger) stale(id uint32, w uint64, got float64) bool {
	word := &l.words[id]
	if changed(w, word.Load()) || w&open == 0 && float64(l.layout.score(w)) == got {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if changed(w, word.Load()) || w&open != 0 && l.table[id].has(got) {
		return false
	}
	return !has(l.doubts[id], got)
}

// changed leaves doubts aside: whoever looks at them sees all there are.
func changed(w, now uint64) bool { return (w^now)&^doubted != 0 }

func has(scores []uint32, score float64) bool {
	return slices.ContainsFunc(scores, func(s uint32) bool { return float64(s) == score })
}
