package analyze

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// slipLimitUS: Go's timers wake up to about 1.1 ms late; beyond this the
// schedule was not kept by something else.
const slipLimitUS = 5000

// stallLimitS is from when on a late sampler says that the process, or its
// host, stood still.
const stallLimitS = 0.25

// allWarnings lists every doubt about the figures.
func (b *Builder) allWarnings(s result.Summary) []string {
	w := append([]string{}, b.warnings...)
	if b.end == nil {
		w = append(w, "the run did not come to its end: these are its intervals up to then")
	}
	for _, p := range b.phases {
		if p.begun {
			w = append(w, p.warnings(b.run)...)
		}
	}
	return append(w, b.clientWarnings(s.Client)...)
}

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
	if b.client.stalled > stallLimitS {
		w = append(w, fmt.Sprintf("rankbench itself stood still for %.2f s before %.1f s: an outage then is not the service's", b.client.stalled, b.client.stalledAt))
	}
	return w
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
	}
	if run.ReadFrom == "replica" {
		w = append(w, p.primaryReads()...)
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
		if reads := n.reads(); steady && reads > 0 && p.nodes.hasReplica(n.addr) {
			w = append(w, fmt.Sprintf("%s: the primary %s served %d read commands that were meant for replicas", p.plan.Name, n.id, reads))
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

func (n *node) reads() uint64 {
	return n.commands["zscore"] + n.commands["zcount"] + n.commands["zrevrange"]
}
