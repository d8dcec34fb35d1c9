package audit

import (
	"cmp"
	"slices"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

// Report is what the audit found, as it stands in a run's results.
type Report = result.Audit

// Loss is an example of what is lost.
type Loss = result.Loss

const maxExamples = 20

// tally is what one connection found.
type tally struct {
	checked, lost, missing, ghosts, changed, overlapped int64

	first, last time.Duration // acknowledgements of the lost
	examples    []example     // the first ones by id
	entry       entry         // of the member that is judged, used again
}

type example struct {
	Loss
	id uint32
}

func (t *tally) lose(at time.Duration, e example) {
	if t.lost == 0 || at < t.first {
		t.first = at
	}
	t.last = max(t.last, at)
	t.lost++
	if len(t.examples) < maxExamples {
		t.examples = append(t.examples, e)
	}
}

// add merges what another connection found.
func (t *tally) add(u tally) {
	if u.lost > 0 && (t.lost == 0 || u.first < t.first) {
		t.first = u.first
	}
	t.last = max(t.last, u.last)
	t.checked += u.checked
	t.lost += u.lost
	t.missing += u.missing
	t.ghosts += u.ghosts
	t.changed += u.changed
	t.overlapped += u.overlapped
	t.examples = append(t.examples, u.examples...)
	slices.SortFunc(t.examples, func(a, b example) int { return cmp.Compare(a.id, b.id) })
	t.examples = t.examples[:min(len(t.examples), maxExamples)]
}

// report adds what the workers counted.
func (l *Ledger) report(t tally) Report {
	r := Report{
		Checked: t.checked, Lost: t.lost, Missing: t.missing, Ghosts: t.ghosts, Changed: t.changed,
		Overlapped: t.overlapped,
	}
	for _, e := range t.examples {
		r.Examples = append(r.Examples, e.Loss)
	}
	if t.lost > 0 {
		from, to := t.first.Seconds(), t.last.Seconds()
		r.LostFromS, r.LostToS, r.LostWindowS = &from, &to, (t.last - t.first).Seconds()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.workers {
		r.Acknowledged += w.acknowledged
		r.Indeterminate += w.indeterminate
		r.MissingReads += w.missing.Load()
		r.StaleReads += w.stale.Load()
	}
	return r
}
