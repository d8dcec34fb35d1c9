package analyze

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// bucketS is the width of a bucket, seconds.
var bucketS = result.BucketWidth.Seconds()

// SlowFactor is how many times the median gap (or the gap that the rate asks for)
// a gap in which nothing failed must last to be an outage, where operations are
// naturally rare (one every few seconds). The median, not the mean: a mean would
// grow with the outage and hide it. A gap in which an operation failed is an
// outage from the threshold on.
const SlowFactor = 5

// outages finds the gaps between successes of each operation that are longer than
// the threshold. What is not over when a phase is goes on in the next one, if that
// has the operation as well. A gap that lies in a warm-up as a whole is left out,
// but for drills, whose steps come when they come.
func (b *Builder) outages() []result.Outage {
	out := []result.Outage{}
	for _, op := range b.ops() {
		for _, c := range b.courses(op) {
			out = append(out, c.outages(b.run.OutageThresholdS, b.run.Command == drillCommand)...)
		}
	}
	for i := range out {
		out[i].PausedS = pausedIn(b.client.pauses, out[i].FromS, out[i].ToS)
	}
	slices.SortStableFunc(out, func(x, y result.Outage) int { return cmp.Compare(x.FromS, y.FromS) })
	return out
}

// drillCommand is the command of a run with steps, as run.json has it.
const drillCommand = "drill"

// ops are the operations of all phases, in their order.
func (b *Builder) ops() (ops []string) {
	for _, p := range b.phases {
		for _, op := range p.plan.Ops {
			if !slices.Contains(ops, op) {
				ops = append(ops, op)
			}
		}
	}
	return ops
}

// course is an operation in phases that follow one another and all have it.
type course struct {
	op       string
	parts    []part
	okAt     map[uint64]uint64            // as in a tally, warm-ups included
	failedAt map[string]map[uint64]uint64 // likewise
}

// part is one phase of a course.
type part struct {
	name               string
	from, measured, to float64 // the beginning, that of the measured part, and the end or as far as was seen
	quiet              float64 // the longest gap without a failure that is no outage
}

func (b *Builder) courses(op string) (all []*course) {
	var c *course
	for _, p := range b.phases {
		switch {
		case !p.begun || !slices.Contains(p.plan.Ops, op):
			c = nil
			continue
		case c == nil:
			c = &course{op: op, okAt: map[uint64]uint64{}, failedAt: map[string]map[uint64]uint64{}}
			all = append(all, c)
		}
		c.add(p)
	}
	return all
}

func (c *course) add(p *phase) {
	x := part{name: p.plan.Name, from: micro(p.from - p.plan.WarmupS), measured: p.from, to: min(p.to, max(p.seen, p.from-p.plan.WarmupS))}
	if rate := p.plan.Rates[c.op]; rate > 0 {
		x.quiet = SlowFactor / rate
	}
	for _, t := range []*tally{p.warmup[c.op], p.ops[c.op]} {
		if t == nil {
			continue
		}
		x.quiet = max(x.quiet, SlowFactor*medianGap(t.okAt, slices.Sorted(maps.Keys(t.okAt))))
		for bucket, n := range t.okAt {
			c.okAt[bucket] += n
		}
		for class, at := range t.failedAt {
			if c.failedAt[class] == nil {
				c.failedAt[class] = map[uint64]uint64{}
			}
			for bucket, n := range at {
				c.failedAt[class][bucket] += n
			}
		}
	}
	c.parts = append(c.parts, x)
}

// outages of a course. One that never had a success is one outage.
func (c *course) outages(threshold float64, drill bool) (out []result.Outage) {
	consider := func(from, to float64, open bool) {
		in, quiet, sent := c.around(from, to)
		if sent <= threshold || !drill && to <= in.measured {
			return
		}
		o := c.outage(in.name, from, to, open)
		if sent > max(threshold, quiet) || o.Unsent > 0 || len(o.Errors) > 0 {
			out = append(out, o)
		}
	}
	last, end := c.parts[0].from, c.parts[len(c.parts)-1].to
	if !drill && len(c.okAt) == 0 {
		last = c.parts[0].measured
	}
	for _, b := range slices.Sorted(maps.Keys(c.okAt)) {
		consider(last, micro(float64(b)*bucketS), false)
		last = micro(float64(b+1) * bucketS)
	}
	consider(last, end, true)
	return out
}

// around is the part in which a gap begins, the longest gap that is usual where it
// lies, and how much of it something was sent in: between two phases nothing is.
func (c *course) around(from, to float64) (in part, quiet, sent float64) {
	in = c.parts[0]
	for _, p := range c.parts {
		if p.from <= from {
			in = p
		}
		if within := min(to, p.to) - max(from, p.from); within > 0 {
			quiet, sent = max(quiet, p.quiet), sent+within
		}
	}
	return in, quiet, micro(sent)
}

// micro rounds seconds to whole microseconds: a gap of exactly the threshold,
// or an outage of exactly its limit, must not be longer by a rounding error.
func micro(s float64) float64 { return math.Round(s*1e6) / 1e6 }

// outage charges the gap with every failed operation that was due in it, from
// the bucket of the last success to the one before that of the first one
// after: an operation that was sent just before the service went away hung in
// it from the start.
func (c *course) outage(phase string, from, to float64, open bool) result.Outage {
	o := result.Outage{
		Op: c.op, Phase: phase, FromS: from, ToS: to, DurationS: micro(to - from), Open: open,
		Errors: map[string]uint64{},
	}
	first, last := int64(from/bucketS+0.5)-1, int64(to/bucketS+0.5)-1
	if open {
		last++
	}
	for class, at := range c.failedAt {
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
