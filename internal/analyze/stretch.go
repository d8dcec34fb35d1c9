package analyze

import (
	"fmt"
	"maps"
	"slices"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rankbench/rankbench/internal/result"
)

// Names of stretches. That of a step in which the primary changed is Alone: the
// promoted primary bears the load without the node that is being replaced.
const (
	Baseline = "baseline"
	Alone    = "alone"
	During   = "during"
	Between  = "between"
	Restored = "restored"
)

// Stretches adds up the intervals of a drill by what was going on: a second pass
// over them, once the events and the outages of the run are known.
//
//	baseline   from the measured part's beginning to the first step
//	alone      from the end of the outages to the recovery, where the primary changed
//	during     from a step's beginning to its end, where it did not
//	between    from a step's end to the next one's beginning
//	restored   from the last step's end to the end
type Stretches struct {
	list   []*stretch
	phases []result.Phase
}

type stretch struct {
	name  string
	step  int // from 1; 0 for none
	nodes *nodeTable
	ops   map[string]*stretchOp
	span
}

type stretchOp struct {
	ok, failed uint64
	loadS      float64 // of the stretch in which the operation was sent and measured
	latency    *hdr.Histogram
	seconds    []second // in order
}

// second is one interval's 99th percentile, microseconds.
type second struct{ at, p99 float64 }

// NewStretches plans the stretches of a run, which has none without steps.
func NewStretches(s result.Summary) *Stretches {
	out := &Stretches{}
	if len(s.Phases) == 0 {
		return out
	}
	out.phases = s.Phases
	end, last := s.Phases[len(s.Phases)-1].ToS, s.Phases[0].FromS
	step, open := 0, false
	name := Baseline
	for _, e := range s.Events {
		switch {
		case e.Kind == result.StepBegins:
			out.add(name, step*btoi(open), last, e.AtS)
			step, open, name, last = step+1, true, During, e.AtS
		case e.Kind == result.NewPrimary && open && name == During:
			name, last = Alone, outageEnd(s.Outages, last, e.AtS)
		case e.Kind == result.StepRecovered && open:
			out.add(name, step, last, e.AtS)
			open, name, last = false, Between, e.AtS
		}
	}
	if step == 0 {
		return out
	}
	if name == Between {
		name = Restored
	}
	out.add(name, step*btoi(open), last, end)
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// outageEnd is when the last outage that began since from had ended, or at.
func outageEnd(outages []result.Outage, from, at float64) float64 {
	for _, o := range outages {
		// One may begin a little before: with the last success before the node died.
		if o.FromS >= from-1 && o.FromS <= at {
			at = max(at, o.ToS)
		}
	}
	return at
}

// add adds a stretch, as far as there is load.
func (s *Stretches) add(name string, step int, from, to float64) {
	to = min(to, s.phases[len(s.phases)-1].ToS)
	if to <= from {
		return
	}
	st := &stretch{name: name, step: step, span: span{from, to}, nodes: newNodeTable(), ops: map[string]*stretchOp{}}
	for _, p := range s.phases {
		if p.FromS >= to || p.ToS <= from {
			continue
		}
		for op := range p.Ops { // of one that hangs there is nothing in the intervals
			if st.ops[op] == nil {
				st.ops[op] = &stretchOp{}
			}
			st.ops[op].loadS += min(to, p.ToS) - max(from, p.FromS)
		}
	}
	s.list = append(s.list, st)
}

// sampleSlackS: samples come as the second does, steps often begin with it, and a
// phase's first sample comes just before it. A sample this close to a border,
// seconds, is of the stretches on both sides of it.
const sampleSlackS = 0.05

// Any tells whether there is anything to add up.
func (s *Stretches) Any() bool { return len(s.list) > 0 }

// Add adds one line of intervals.ndjson: to the stretch it is wholly in. Counts
// are by bucket, so that a second across a border is divided.
func (s *Stretches) Add(iv result.Interval) error {
	for _, st := range s.list {
		for _, n := range iv.Nodes {
			if n.AtS >= st.from-sampleSlackS && n.AtS <= st.to+sampleSlackS {
				st.nodes.add(n, 0)
			}
		}
		if iv.ToS <= st.from || iv.FromS >= st.to {
			continue
		}
		for _, c := range iv.Cells {
			if err := st.addCell(c, iv); err != nil {
				return fmt.Errorf("interval at %.3f s, %s: %w", iv.FromS, c.Op, err)
			}
		}
	}
	return nil
}

func (st *stretch) addCell(c result.Cell, iv result.Interval) error {
	op := st.ops[c.Op]
	if op == nil {
		op = &stretchOp{}
		st.ops[c.Op] = op
	}
	if c.Warmup {
		return nil
	}
	for i, n := range c.OKAt.N {
		if st.has(c.OKAt.From + uint64(i)) {
			op.ok += uint64(n)
		}
	}
	for _, f := range c.Errors {
		op.addFailed(st, f.At)
	}
	op.addFailed(st, c.UnsentAt)
	if iv.FromS < st.from || iv.ToS > st.to {
		return nil
	}
	encoded := c.Latency
	if encoded == "" {
		encoded = c.Service
	}
	h, err := result.DecodeHistogram(encoded)
	if err != nil || h == nil {
		return err
	}
	op.seconds = append(op.seconds, second{iv.FromS, float64(h.ValueAtPercentile(99))})
	if op.latency == nil {
		op.latency = h
		return nil
	}
	op.latency.Merge(h)
	return nil
}

// has tells whether a 10 ms bucket begins in the stretch.
func (st *stretch) has(bucket uint64) bool {
	at := micro(float64(bucket) * bucketS)
	return at >= st.from && at < st.to
}

func (op *stretchOp) addFailed(st *stretch, at [][2]uint64) {
	for _, pair := range at {
		if st.has(pair[0]) {
			op.failed += pair[1]
		}
	}
}

// Apply writes the stretches and the levels into the summary.
func (s *Stretches) Apply(sum *result.Summary) {
	sum.Levels = map[string]result.Level{}
	degraded := s.degraded()
	for _, st := range s.list {
		sum.Stretches = append(sum.Stretches, st.summary())
		for name, op := range st.ops {
			l, rps := sum.Levels[name], op.rps()
			switch {
			case st.name == Baseline:
				l.BaselineRPS = rps
			case st.name == Restored:
				l.RestoredRPS = rps
			case st == degraded:
				l.DegradedRPS = rps
			}
			sum.Levels[name] = l
		}
	}
	s.applyReturn(sum)
}

// degraded is the first stretch with a primary alone or, where the primary never
// changed, the first one of a step; nil if none is long enough.
func (s *Stretches) degraded() *stretch {
	for _, name := range []string{Alone, During} {
		for _, st := range s.list {
			if st.name == name && st.to-st.from >= leastStretchS {
				return st
			}
		}
	}
	return nil
}

// leastStretchS is the shortest stretch that has a rate, seconds: in less, a few
// operations more or less are everything.
const leastStretchS = 1.0

// rps is nil of a stretch in which the operation was sent for too short a time.
func (op *stretchOp) rps() *float64 {
	if op.loadS < leastStretchS {
		return nil
	}
	rps := micro(float64(op.ok) / op.loadS)
	return &rps
}

func (st *stretch) summary() result.Stretch {
	out := result.Stretch{Name: st.name, Step: st.step, FromS: st.from, ToS: st.to, Ops: map[string]result.StretchOp{}, Nodes: st.nodes.summary()}
	for name, op := range st.ops {
		o := result.StretchOp{RPS: op.rps(), Failed: op.failed}
		if op.latency != nil {
			p50, p99 := float64(op.latency.ValueAtPercentile(50)), float64(op.latency.ValueAtPercentile(99))
			o.P50US, o.P99US = &p50, &p99
		}
		out.Ops[name] = o
	}
	return out
}

// The time back to the baseline's p99 is when calmSeconds seconds in a row have
// a p99 of at most calmFactor times that of the baseline: a second's own p99 is
// of few operations, and wavers.
const (
	calmSeconds = 3
	calmFactor  = 1.25
)

// applyReturn finds, from the first step's beginning on, when each operation was
// as quick again as before.
func (s *Stretches) applyReturn(sum *result.Summary) {
	if len(s.list) < 2 || s.list[0].name != Baseline {
		return
	}
	base := s.list[0]
	for _, name := range slices.Sorted(maps.Keys(base.ops)) {
		before := base.ops[name].latency
		if before == nil || before.TotalCount() == 0 {
			continue
		}
		limit := calmFactor * float64(before.ValueAtPercentile(99))
		if at, ok := s.calmFrom(name, limit); ok {
			l, took := sum.Levels[name], micro(at-base.to)
			l.BackToP99S = &took
			sum.Levels[name] = l
		}
	}
}

func (s *Stretches) calmFrom(op string, limit float64) (at float64, ok bool) {
	calm := 0
	for _, st := range s.list[1:] {
		if st.ops[op] == nil {
			continue
		}
		for _, sec := range st.ops[op].seconds {
			if sec.p99 > limit {
				calm = 0
				continue
			}
			if calm++; calm == 1 {
				at = sec.at
			}
			if calm == calmSeconds {
				return at, true
			}
		}
	}
	return 0, false
}
