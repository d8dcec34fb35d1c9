package analyze

import (
	"math"
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// An operation is compared with its baseline window by window. The window is the
// shortest, from leastWindowS on and doubled, in which windowOps operations came
// in the baseline, and in which the baseline was never below half of itself. Of
// fewer, half can be missing by chance and one error is more than errorShare; and
// a host that is short of processors wavers, whatever happens to the service.
const (
	windowOps    = 100
	leastWindowS = 0.1
	leastWindows = 2 // in the baseline
	errorShare   = 0.01
)

// Degraded says how long each operation was below half of its baseline, and how
// long more than 1 % of it failed: from the first step's beginning to the end of
// the load, in the measured parts of the phases that have the operation at the rate
// and beside the operations of the first one, without pauses of rankbench itself. The levels are those that Stretches.Apply has set.
// An operation of which there is no window to tell it by has neither.
func (b *Builder) Degraded(sum *result.Summary) {
	i := slices.IndexFunc(sum.Events, func(e result.Event) bool { return e.Kind == result.StepBegins })
	if i < 0 {
		return
	}
	step := sum.Events[i].AtS
	for op, l := range sum.Levels {
		if l.BaselineRPS == nil || *l.BaselineRPS == 0 {
			continue
		}
		buckets, ok := b.window(op, *l.BaselineRPS, step)
		if !ok {
			continue
		}
		if d := b.compare(op, *l.BaselineRPS, buckets, step, b.lastS); d.windows > 0 {
			half, errors, window := micro(d.half), micro(d.errors), micro(float64(buckets)*bucketS)
			l.BelowHalfS, l.ErrorsAbove1PctS, l.WindowS = &half, &errors, &window
			sum.Levels[op] = l
		}
	}
}

// window is how many buckets a window has, if the baseline, which ends at an
// offset, is long enough to say it.
func (b *Builder) window(op string, rps, to float64) (buckets uint64, ok bool) {
	for buckets = uint64(math.Ceil(micro(max(leastWindowS, windowOps/rps) / bucketS))); ; buckets *= 2 {
		switch d := b.compare(op, rps, buckets, 0, to); {
		case d.windows < leastWindows:
			return buckets, false
		case d.half == 0:
			return buckets, true
		}
	}
}

// compare adds up the windows of one operation between two offsets.
func (b *Builder) compare(op string, rps float64, buckets uint64, from, to float64) degraded {
	d := degraded{baseline: rps, buckets: buckets, pauses: b.client.pauses}
	var like *result.RunPhase // the phase of the baseline
	for _, p := range b.phases {
		if !p.begun || !slices.Contains(p.plan.Ops, op) {
			continue
		}
		if like == nil {
			like = &p.plan
		}
		if p.plan.Rates[op] != like.Rates[op] || !slices.Equal(p.plan.Ops, like.Ops) {
			continue // it was to do another amount
		}
		t := p.ops[op]
		if t == nil { // all of it hung
			t = newTally()
		}
		d.phase(t, max(p.from, from), min(p.to, to))
	}
	return d
}

type degraded struct {
	baseline     float64 // operations a second
	buckets      uint64  // of a window
	pauses       []result.Pause
	half, errors float64 // seconds
	windows      int
}

// phase adds the whole windows from one offset to another.
func (d *degraded) phase(t *tally, from, to float64) {
	for w := uint64(math.Ceil(micro(from / bucketS))); ; w += d.buckets {
		begins, ends := micro(float64(w)*bucketS), micro(float64(w+d.buckets)*bucketS)
		if ends > to {
			return
		}
		awake := micro(ends - begins - pausedIn(d.pauses, begins, ends))
		// What is left of a window that was mostly a pause is too little to judge.
		if 2*awake >= ends-begins {
			d.window(t, w, awake)
		}
	}
}

func (d *degraded) window(t *tally, first uint64, awake float64) {
	ok, failed := uint64(0), uint64(0)
	for b := first; b < first+d.buckets; b++ {
		ok += t.okAt[b]
		for _, at := range t.failedAt {
			failed += at[b]
		}
	}
	d.windows++
	if float64(ok) < micro(d.baseline*awake/2) {
		d.half += awake
	}
	if float64(failed) > errorShare*float64(max(ok+failed, windowOps)) {
		d.errors += awake
	}
}
