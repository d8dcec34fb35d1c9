package analyze

import (
	"maps"
	"math"
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// bucketS is the width of a bucket, seconds.
var bucketS = result.BucketWidth.Seconds()

// slowFactor: where operations are naturally rare (one every few seconds), a
// gap in which nothing failed is an outage only from this many times the median
// gap on, or the gap that the rate asks for. The median, not the mean: a mean
// would grow with the outage and hide it. A gap in which an operation failed is
// an outage from the threshold on.
const slowFactor = 5

// outages finds the gaps between successes of each operation that are longer than
// the threshold, in the measured parts of the phases; in a drill, whose steps may
// come at any time, in the warm-ups, too. What has not ended when a phase does goes
// on to the next success of the operation in a later one.
func (b *Builder) outages() []result.Outage {
	out := []result.Outage{}
	open := map[string]int{} // by operation, the one that has not ended
	for _, p := range b.phases {
		if !p.begun {
			continue
		}
		for _, op := range p.plan.Ops {
			from, t := p.stretchOf(op, b.run.Command == drillCommand)
			found := p.outagesOf(op, t, from, b.run.OutageThresholdS)
			if i, was := open[op]; was {
				found = goOn(&out[i], found, t, from, p.to)
				if !out[i].Open {
					delete(open, op)
				}
			}
			out = append(out, found...)
			if n := len(out) - 1; len(found) > 0 && out[n].Open {
				open[op] = n
			}
		}
	}
	for i := range out {
		out[i].PausedS = pausedIn(b.client.pauses, out[i].FromS, out[i].ToS)
	}
	return out
}

// drillCommand is the command of a run with steps, as run.json has it.
const drillCommand = "drill"

// stretchOf is where outages of an operation are looked for in a phase: from an
// offset on, in a tally.
func (p *phase) stretchOf(op string, whole bool) (from float64, t *tally) {
	t = newTally()
	if p.ops[op] != nil {
		t = p.ops[op]
	}
	if !whole || p.warmup[op] == nil {
		return p.from, t
	}
	both := newTally()
	for _, part := range []*tally{p.warmup[op], t} {
		maps.Copy(both.okAt, part.okAt)
		for class, at := range part.failedAt {
			if both.failedAt[class] == nil {
				both.failedAt[class] = map[uint64]uint64{}
			}
			for bucket, n := range at {
				both.failedAt[class][bucket] += n
			}
		}
	}
	return micro(p.from - p.plan.WarmupS), both
}

// goOn ends an open outage with the first success in a later phase, which is
// looked at between two offsets, and returns those found there that are left.
func goOn(o *result.Outage, found []result.Outage, t *tally, from, to float64) []result.Outage {
	switch {
	case len(found) > 0 && found[0].FromS == from:
		o.ToS, o.Open, o.Unsent = found[0].ToS, found[0].Open, o.Unsent+found[0].Unsent
		for class, n := range found[0].Errors {
			o.Errors[class] += n
		}
		found = found[1:]
	case len(t.okAt) > 0:
		o.ToS, o.Open = micro(float64(slices.Min(slices.Collect(maps.Keys(t.okAt))))*bucketS), false
	default:
		o.ToS = to
	}
	o.DurationS = micro(o.ToS - o.FromS)
	return found
}

// outagesOf are those of one operation from an offset on to the phase's end. A
// phase that never had a success is one outage.
func (p *phase) outagesOf(op string, t *tally, from, threshold float64) []result.Outage {
	done := slices.Sorted(maps.Keys(t.okAt))
	quiet := max(threshold, slowFactor*medianGap(t.okAt, done))
	if rate := p.plan.Rates[op]; rate > 0 {
		quiet = max(quiet, slowFactor/rate)
	}
	var out []result.Outage
	consider := func(from, to float64, open bool) {
		gap := micro(to - from)
		if gap <= threshold {
			return
		}
		if o := p.outage(op, t, from, to, open); gap > quiet || o.Unsent > 0 || len(o.Errors) > 0 {
			out = append(out, o)
		}
	}
	last := from
	for _, b := range done {
		consider(last, micro(float64(b)*bucketS), false)
		last = micro(float64(b+1) * bucketS)
	}
	consider(last, p.to, true)
	return out
}

// micro rounds seconds to whole microseconds: a gap of exactly the threshold,
// or an outage of exactly its limit, must not be longer by a rounding error.
func micro(s float64) float64 { return math.Round(s*1e6) / 1e6 }

// outage charges the gap with every failed operation that was due in it, from
// the bucket of the last success to the one before that of the first one
// after: an operation that was sent just before the service went away hung in
// it from the start.
func (p *phase) outage(op string, t *tally, from, to float64, open bool) result.Outage {
	o := result.Outage{
		Op: op, Phase: p.plan.Name, FromS: from, ToS: to, DurationS: micro(to - from), Open: open,
		Errors: map[string]uint64{},
	}
	first, last := int64(from/bucketS+0.5)-1, int64(to/bucketS+0.5)-1
	if open {
		last++
	}
	for class, at := range t.failedAt {
		for b, n := range at {
			if int64(b) < first || int64(b) > last {
				continue
			}
			if class == unsentClass {
				o.Unsent += n
			} else {
				o.Errors[class] += n
			}
		}
	}
	return o
}

// medianGap is the median time between successes, seconds: successes of one
// bucket have none. 0 where there are fewer than three successes.
func medianGap(at map[uint64]uint64, done []uint64) float64 {
	var gaps []float64
	zero := uint64(0)
	for i, b := range done {
		zero += at[b] - 1
		if i > 0 {
			gaps = append(gaps, float64(b-done[i-1])*bucketS)
		}
	}
	if zero+uint64(len(gaps)) < 2 || zero >= uint64(len(gaps)) {
		return 0
	}
	slices.Sort(gaps)
	return gaps[(zero+uint64(len(gaps)))/2-zero]
}
