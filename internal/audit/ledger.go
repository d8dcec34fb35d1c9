package audit

// flight is a Set on its way.
type flight struct {
	id, score uint32
	before    uint64 // the member's word, where the flight is an ordinary one
	number    uint64 // in the member's entry, from 1
}

// ordinary is the number of a flight that found its member alone. If an entry
// is made for the member meanwhile, it is the first one there.
const ordinary = 1

// enter notes that a Set is about to be sent. The ordinary path is one compare
// and swap on a word that is this member's alone.
func (l *Ledger) enter(id, score uint32) (flight, error) {
	word := &l.words[id]
	f := flight{id: id, score: score, before: word.Load(), number: ordinary}
	if f.before&(inFlight|open) != 0 || !word.CompareAndSwap(f.before, f.before|inFlight) {
		f = l.enterOverlap(id, score)
	}
	// Only now: Check freezes and then looks at the words. Either it sees this
	// flight and waits for it, or the flight sees that it is too late.
	if l.frozen.Load() {
		l.settle(f, untouched)
		return f, ErrFrozen
	}
	return f, nil
}

// settle notes what became of a Set. The flight is over when the word says so:
// everything else is written before.
func (l *Ledger) settle(f flight, is fate) {
	after, at := f.before, uint32(0)
	if is&unknown != 0 {
		l.doubt(f.id, f.score)
		after |= doubted
	}
	if is&acknowledged != 0 {
		at = tickOf(l.now())
		after = l.layout.acknowledge(after, f.score, at)
	}
	if f.number == ordinary && l.words[f.id].CompareAndSwap(f.before|inFlight, after) {
		return
	}
	l.settleOverlap(f, is, at)
}
