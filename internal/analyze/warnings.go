package analyze

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/result"
)

// slipLimitUS: Go's timers wake up to about 1.1 ms late; beyond this the
// schedule was not kept by something else.
const slipLimitUS = 5000

// pausedLimitS is from when on pauses of the process are worth a warning of
// their own; one in an outage is told in any case.
const pausedLimitS = 0.25

// allWarnings lists every doubt about the figures.
func (b *Builder) allWarnings(s result.Summary) []string {
	w := append([]string{}, b.warnings...)
	if b.end == nil {
		w = append(w, "the run did not come to its end: these are its intervals up to then")
	}
	if b.end == nil {
		w = append(w, leftBehind(s.Events)...)
	}
	for _, p := range b.phases {
		if p.begun {
			w = append(w, p.warnings(b.run)...)
		}
	}
	w = append(w, b.clientWarnings(s.Client)...)
	return append(w, pauseWarning(b.client.pauses, s.Outages)...)
}

// leftBehind says which steps a run that was killed had begun: nothing of what they
// changed was put back. Those that change nothing for good are over when they are done.
func leftBehind(events []result.Event) []string {
	var w []string
	for i, e := range events {
		over := slices.Contains(passing, e.Subject) && slices.ContainsFunc(events[i:], func(later result.Event) bool {
			return later.Kind == result.StepRecovered && later.Subject == e.Subject
		})
		if e.Kind == result.StepBegins && !over {
			w = append(w, fmt.Sprintf("the step %s had begun at %.1f s: what it changed was not put back, and may be going on; see `rankbench describe`", e.Subject, e.AtS))
		}
	}
	return w
}

// passing are the steps, as scenarios name them, of which nothing is left when all
// has recovered.
var passing = []string{"test_failover", "reboot", "kill", "resume", "wait"}

func (b *Builder) clientWarnings(c result.Client) []string {
	var w []string
	if c.Bottleneck {
		text := "the client was the bottleneck (" + c.Reason + "): the servers may carry more than these figures say"
		if b.run.Local {
			text = "client and servers share this host (" + c.Reason + "): the figures are this machine's, not those of a server of its own"
		}
		w = append(w, text)
	}
	if c.SlipUSP99 > slipLimitUS {
		w = append(w, fmt.Sprintf("the schedule slipped: 1 %% of the operations were sent %.1f ms or more after they were due though a worker was free", c.SlipUSP99/1000))
	}
	if c.AddedBySet > 0 {
		w = append(w, fmt.Sprintf("%d Sets added a member that was there when the ranking was filled: it lost members (flushed, evicted, or a node that came back empty), and is smaller than the scenario's", c.AddedBySet))
	}
	return w
}

// pauseWarning tells that the tool itself did not run.
func pauseWarning(pauses []result.Pause, outages []result.Outage) []string {
	all := pausedIn(pauses, 0, math.Inf(1))
	inOutage := slices.ContainsFunc(outages, func(o result.Outage) bool { return o.PausedS > 0 })
	if all < pausedLimitS && !inOutage {
		return nil
	}
	var at []string
	for _, p := range pauses {
		if len(at) == 5 {
			at = append(at, "…")
			break
		}
		at = append(at, fmt.Sprintf("%.2f s at %.1f s", p.ToS-p.FromS, p.FromS))
	}
	return []string{fmt.Sprintf("rankbench itself did not run for %.2f s in all (%s): an outage then need not be the service's", all, strings.Join(at, ", "))}
}

func (p *phase) warnings(run result.Run) []string {
	var w []string
	for _, op := range p.plan.Ops {
		t := p.ops[op]
		if t == nil && p.claimed[op] == 0 {
			w = append(w, fmt.Sprintf("%s: no operation of %s came due in the measured part", p.plan.Name, op))
			continue
		}
		if t == nil {
			t = newTally()
		}
		w = append(w, p.opWarnings(op, t)...)
		if warm := p.warmup[op]; warm != nil && warm.due() > warm.ok {
			shown := "which no figure and no outage shows"
			if run.Command == drillCommand {
				shown = "which no figure but the outages shows"
			}
			w = append(w, fmt.Sprintf("%s: %d of %d operations of %s failed or were not sent in the warm-up, %s", p.plan.Name, warm.due()-warm.ok, warm.due(), op, shown))
		}
	}
	if run.ReadFrom == "replica" {
		w = append(w, p.primaryReads()...)
	}
	return append(w, p.lateCounts()...)
}

// lateCounts: a node that did not answer at the phase's end has counts up to
// its last answer only.
func (p *phase) lateCounts() []string {
	var w []string
	for _, id := range slices.Sorted(maps.Keys(p.nodes.byID)) {
		n := p.nodes.byID[id]
		if p.ended && n.last != nil && n.last.AtS < n.at {
			w = append(w, fmt.Sprintf("%s: the counts of %s end at %.1f s, when it last answered", p.plan.Name, id, n.last.AtS))
		}
	}
	return w
}

func (p *phase) opWarnings(op string, t *tally) []string {
	var w []string
	if claimed, ok := p.claimed[op]; ok && claimed != t.due() {
		w = append(w, fmt.Sprintf("%s: %d operations of %s came due, but %d are accounted for: a fault of rankbench", p.plan.Name, claimed, op, t.due()))
	}
	if t.unsent > 0 {
		w = append(w, fmt.Sprintf("%s: %d of %d operations of %s were not sent: no worker was free in time (or the run was interrupted)", p.plan.Name, t.unsent, t.due(), op))
	}
	if n := t.errors["missing"]; n > 0 {
		w = append(w, fmt.Sprintf("%s: %d operations of %s missed members that were there when the ranking was filled", p.plan.Name, n, op))
	}
	return w
}

// primaryReads: reads that were meant for replicas went to a node that was the
// primary all the time, though it had a replica.
func (p *phase) primaryReads() []string {
	var w []string
	for _, id := range slices.Sorted(maps.Keys(p.nodes.byID)) {
		n := p.nodes.byID[id]
		steady := len(n.roles) == 1 && n.roles[0].Role == "primary"
		if served := reads(n.commands); steady && served > 0 && p.nodes.hasReplica(n.addr) {
			w = append(w, fmt.Sprintf("%s: the primary %s served %d read commands that were meant for replicas", p.plan.Name, n.id, served))
		}
	}
	return w
}

// hasReplica says whether a node replicated from addr at its last answer.
func (t *nodeTable) hasReplica(addr string) bool {
	for _, n := range t.byID {
		if n.last != nil && n.last.PrimaryAddr == addr {
			return true
		}
	}
	return false
}

// reads are those of the ranking's operations, of a server's counts.
func reads(commands map[string]uint64) uint64 {
	return commands["zscore"] + commands["zcount"] + commands["zrevrange"]
}
