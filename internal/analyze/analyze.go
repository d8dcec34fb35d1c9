// Package analyze turns the intervals and events of a run into its summary. It
// is pure: the same folder gives the same summary, today and in a year.
//
//  1. Names is shown the lines of the run, and from then on knows the node of
//     each sample (names.go).
//  2. A Builder is fed the lines of the run in order. Cells are added up by
//     phase and operation (tally.go), node samples by node (nodes.go, reads.go),
//     samples of the tool itself (client.go).
//  3. Summary closes the sums: quantiles, outages (outage.go), limits
//     (limits.go), and warnings about figures that are not to be trusted
//     (warnings.go).
//  4. Of a drill, Stretches is fed the lines once more, now that it is known when
//     what was going on (stretch.go), and Degraded compares each operation with
//     its own baseline (degraded.go).
//
// Every total is a sum of intervals, so that a series and a total cannot disagree.
package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/result"
)

// Builder adds up a run. It is for one goroutine.
type Builder struct {
	run       result.Run
	phases    []*phase
	nodes     *nodeTable
	client    clientTally
	service   service
	readers   readers
	lastS     float64
	lastPhase int
	end       *result.RunEnd // nil until the last line, for ever in a killed run
	warnings  []string
}

// phase is what is known of one phase.
type phase struct {
	plan         result.RunPhase
	begun, ended bool
	from, to     float64 // of the measured part
	planned      float64 // its end, as it was planned
	seen         float64 // end of its last interval
	ops, warmup  map[string]*tally
	claimed      map[string]uint64
	nodes        *nodeTable
	client       clientTally
}

// NewBuilder returns an empty builder for a run.
func NewBuilder(run result.Run) *Builder {
	b := &Builder{run: run, nodes: newNodeTable(), service: service{readFrom: run.ReadFrom}, lastPhase: -1, warnings: slices.Clone(run.Warnings)}
	for _, p := range run.Phases {
		b.phases = append(b.phases, &phase{plan: p, ops: map[string]*tally{}, warmup: map[string]*tally{}, nodes: newNodeTable()})
	}
	return b
}

// Add adds one line of intervals.ndjson.
func (b *Builder) Add(iv result.Interval) error {
	b.hole(iv)
	b.lastS = max(b.lastS, iv.ToS)
	if iv.End != nil {
		b.end = iv.End
		b.warnings = append(b.warnings, iv.End.Warnings...)
	}
	if iv.Phase < -1 || iv.Phase >= len(b.phases) {
		return fmt.Errorf("interval at %.3f s belongs to phase %d, the run has %d", iv.FromS, iv.Phase, len(b.phases))
	}
	var p *phase
	if iv.Phase >= 0 {
		p = b.phases[iv.Phase]
		p.mark(iv)
		p.seen = max(p.seen, iv.ToS)
		if err := p.add(iv); err != nil {
			return err
		}
	}
	b.addNodes(p, iv)
	b.readers.add(iv.Nodes)
	b.service.add(iv)
	b.client.add(iv, p)
	if p != nil {
		p.client.add(iv, p)
	}
	return nil
}

// holeS is what may be missing between two intervals, seconds: less is rounding.
const holeS = 0.05

// hole takes what is missing between two intervals of a phase for a pause: nothing
// is known of it.
func (b *Builder) hole(iv result.Interval) {
	same := iv.Phase >= 0 && iv.Phase == b.lastPhase
	if b.lastPhase = iv.Phase; !same || iv.FromS-b.lastS < holeS {
		return
	}
	b.client.pauses = append(b.client.pauses, result.Pause{FromS: b.lastS, ToS: iv.FromS})
	b.Warn(fmt.Sprintf("the intervals from %.2f s to %.2f s are missing: what happened then is not known", b.lastS, iv.FromS))
}

// Warn adds a doubt about the figures.
func (b *Builder) Warn(w string) { b.warnings = append(b.warnings, w) }

func (p *phase) mark(iv result.Interval) {
	if m := iv.Mark; m != nil {
		p.from, p.to, p.planned = m.MeasuredFromS, m.MeasuredToS, m.MeasuredToS
		p.begun = p.begun || m.Begin
		p.ended = p.ended || m.End
		if m.End {
			p.claimed = m.Claimed
		}
	}
	if !p.ended && p.begun {
		p.to = max(p.from, min(p.planned, iv.ToS)) // as far as it came, should the run be killed
	}
}

func (p *phase) add(iv result.Interval) error {
	for _, c := range iv.Cells {
		into := p.ops
		if c.Warmup {
			into = p.warmup
		}
		if into[c.Op] == nil {
			into[c.Op] = newTally()
		}
		if err := into[c.Op].add(c); err != nil {
			return fmt.Errorf("interval at %.3f s, %s: %w", iv.FromS, c.Op, err)
		}
	}
	return nil
}

// addNodes: a sample belongs to the run from the first phase's beginning on,
// and to a phase from its beginning to its end.
func (b *Builder) addNodes(p *phase, iv result.Interval) {
	for _, s := range iv.Nodes {
		if p != nil {
			p.nodes.add(s, p.from)
		}
		b.nodes.add(s, 0)
	}
}

// Summary closes the sums. Events are those of the run, in order.
func (b *Builder) Summary(events []result.Event) result.Summary {
	s := result.Summary{
		Version: result.Version, Scenario: b.run.Scenario, Started: b.run.Started,
		DurationS: b.lastS, Interrupted: b.end != nil && b.end.Interrupted, Complete: b.end != nil,
		Phases: []result.Phase{}, Outages: []result.Outage{}, Limits: []result.Limit{},
		Nodes: b.nodes.summary(), Events: inOrder(events), Client: b.client.summary(),
	}
	if b.end != nil {
		s.Audit, s.FailedSteps, s.NotRestored, s.AWSClock = b.end.Audit, b.end.FailedSteps, b.end.NotRestored, b.end.AWSClock
	}
	s.Client.Reason = b.bottleneck()
	s.Client.Bottleneck = s.Client.Reason != ""
	end := 0.0 // of the load
	for _, p := range b.phases {
		if !p.begun {
			continue // never reached
		}
		end = p.to
		s.Phases = append(s.Phases, p.summary())
	}
	s.Outages = b.outages()
	b.service.split(s.Outages, b.client.pauses)
	s.ServiceOutages = b.service.outages(b.run.OutageThresholdS, b.client.pauses)
	b.readers.apply(&s, end)
	s.Limits, s.Verdict = judge(b.run.Limits, s)
	s.Warnings = b.allWarnings(s)
	return s
}

// inOrder sorts events by their time: the console's come late.
func inOrder(events []result.Event) []result.Event {
	out := slices.Clone(events)
	slices.SortStableFunc(out, func(a, b result.Event) int { return cmp.Compare(a.AtS, b.AtS) })
	return out
}

// bottleneck says in which phases the client was the limit, and why, or "".
func (b *Builder) bottleneck() string {
	var reasons []string
	for _, p := range b.phases {
		if why := p.client.bottleneck(b.run.Host.MaxProcs); why != "" {
			reasons = append(reasons, p.plan.Name+": "+why)
		}
	}
	return strings.Join(reasons, "; ")
}

func (p *phase) summary() result.Phase {
	out := result.Phase{Name: p.plan.Name, FromS: p.from, ToS: p.to, Ops: map[string]result.OpSummary{}, Nodes: p.nodes.summary()}
	for _, op := range p.plan.Ops {
		t := p.ops[op]
		if t == nil {
			t = newTally()
		}
		out.Ops[op] = t.summary(p.to - p.from)
		if w := p.warmup[op]; w != nil {
			if out.WarmupOps == nil {
				out.WarmupOps = map[string]result.OpSummary{}
			}
			out.WarmupOps[op] = w.summary(p.plan.WarmupS)
		}
	}
	return out
}
