package page

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/analyze"
	"github.com/rankbench/rankbench/internal/result"
)

// Builder is fed a run's lines and events in order, and gives its Model at any
// time. It is for one goroutine.
type Builder struct {
	run    result.Run
	toS    float64
	phases []phaseSeen
	ops    map[string]*opSeen
	failed map[string]*counts // by class, of all operations
	nodes  []*nodeSeen        // in the order in which they were first seen
	events []result.Event
}

// phaseSeen is what was seen of a phase.
type phaseSeen struct {
	seen       bool
	fromS, toS float64
	measuredS  float64 // when its warm-up ended
}

// opSeen is what was seen of one operation.
type opSeen struct {
	ok, due         counts // successes; seconds in which its phase was on
	p50, p99, worst []point
}

// NewBuilder returns a builder for a run that has seen nothing yet.
func NewBuilder(run result.Run) *Builder {
	return &Builder{run: run, phases: make([]phaseSeen, len(run.Phases)), ops: map[string]*opSeen{}, failed: map[string]*counts{}}
}

// longestS is the longest run that a page is made of: beyond, an offset is damage.
const longestS = 31 * 24 * 3600

// Interval adds a line of intervals.ndjson.
func (b *Builder) Interval(iv result.Interval) error {
	if !(iv.FromS >= 0 && iv.ToS >= iv.FromS && iv.ToS < longestS) || iv.Phase >= len(b.phases) {
		return fmt.Errorf("interval from %g s to %g s of phase %d is not one of this run", iv.FromS, iv.ToS, iv.Phase)
	}
	b.toS = max(b.toS, iv.ToS)
	if iv.Phase >= 0 {
		b.addPhase(iv)
	}
	for _, c := range iv.Cells {
		b.addCell(c, iv.ToS)
	}
	if err := b.addLatencies(iv); err != nil {
		return err
	}
	for _, s := range iv.Nodes {
		b.addSample(s)
	}
	return nil
}

// Event adds a line of events.ndjson.
func (b *Builder) Event(e result.Event) {
	if e.AtS >= 0 && e.AtS < longestS {
		b.events = append(b.events, e)
		b.toS = max(b.toS, e.AtS)
	}
}

func (b *Builder) addPhase(iv result.Interval) {
	p := &b.phases[iv.Phase]
	if !p.seen {
		*p = phaseSeen{seen: true, fromS: iv.FromS, measuredS: iv.FromS}
	}
	p.toS = max(p.toS, iv.ToS)
	if iv.Mark != nil && iv.Mark.Begin {
		p.measuredS = iv.Mark.MeasuredFromS
	}
	for _, op := range b.run.Phases[iv.Phase].Ops {
		b.op(op).due.spread(iv.FromS, iv.ToS)
	}
}

func (b *Builder) op(name string) *opSeen {
	if b.ops[name] == nil {
		b.ops[name] = &opSeen{}
	}
	return b.ops[name]
}

// addCell counts by bucket; one beyond the interval's end is damage.
func (b *Builder) addCell(c result.Cell, toS float64) {
	last := uint64(toS/bucketS) + 1
	ok := &b.op(c.Op).ok
	for i, n := range c.OKAt.N {
		ok.add(c.OKAt.From+uint64(i), last, float64(n))
	}
	for class, f := range c.Errors {
		b.fail(class, f.At, last)
	}
	b.fail("unsent", c.UnsentAt, last)
}

func (b *Builder) fail(class string, at [][2]uint64, last uint64) {
	for _, a := range at {
		if b.failed[class] == nil {
			b.failed[class] = &counts{}
		}
		b.failed[class].add(a[0], last, float64(a[1]))
	}
}

// addLatencies takes the quantiles of an interval, warm-up included.
func (b *Builder) addLatencies(iv result.Interval) error {
	var w analyze.Window
	for _, c := range iv.Cells {
		if err := w.Add(c); err != nil {
			return fmt.Errorf("interval at %.3f s: %w", iv.FromS, err)
		}
	}
	for op, s := range w.Close(max(iv.ToS-iv.FromS, 0.001)) {
		if s.OK == 0 {
			continue
		}
		o := b.op(op)
		o.p50 = during(o.p50, iv.FromS, iv.ToS, s.LatencyUS.P50)
		o.p99 = during(o.p99, iv.FromS, iv.ToS, s.LatencyUS.P99)
		o.worst = during(o.worst, iv.FromS, iv.ToS, s.LatencyUS.Max)
	}
	return nil
}

// usual is the order of operations in all reports.
var usual = []string{"set", "get", "find", "find_by_order"}

func (b *Builder) opNames() []string { return inOrder(maps.Keys(b.ops)) }

// inOrder gives operations in their usual order, others after them.
func inOrder(ops iter.Seq[string]) []string {
	rank := func(op string) int {
		if i := slices.Index(usual, op); i >= 0 {
			return i
		}
		return len(usual)
	}
	return slices.SortedFunc(ops, func(x, y string) int { return cmp.Or(rank(x)-rank(y), strings.Compare(x, y)) })
}

func (b *Builder) classes() []string { return slices.Sorted(maps.Keys(b.failed)) }

// grid is the one that a page of this length is drawn on. Lanes by node and by
// error class may be many: from sixty series on, each has fewer points.
func (b *Builder) grid() grid {
	points, series := maxPoints, 4*len(b.ops)+len(b.failed)+6*len(b.nodes)
	if series > 60 {
		points = max(100, maxPoints*60/series)
	}
	return gridFor(b.toS, points)
}
