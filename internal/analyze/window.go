package analyze

import "github.com/rankbench/rankbench/internal/result"

// Window adds up cells for the lines on the screen, between two prints.
type Window struct{ ops map[string]*tally }

// Add adds a cell. Warm-up and measured operations are added alike: a window
// does not reach across the end of a warm-up.
func (w *Window) Add(c result.Cell) error {
	if w.ops == nil {
		w.ops = map[string]*tally{}
	}
	if w.ops[c.Op] == nil {
		w.ops[c.Op] = newTally()
	}
	return w.ops[c.Op].add(c)
}

// Close returns the sums of a window that lasted so many seconds, and empties it.
func (w *Window) Close(seconds float64) map[string]result.OpSummary {
	out := map[string]result.OpSummary{}
	for op, t := range w.ops {
		out[op] = t.summary(seconds)
	}
	w.ops = nil
	return out
}
