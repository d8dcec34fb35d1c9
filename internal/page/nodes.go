package page

import (
	"strings"

	"github.com/rankbench/rankbench/internal/result"
)

// nodeSeen is what was seen of one node. Rates are of what a sample's counters are
// ahead of those of the one before; where the server was restarted or away in
// between, they are not known.
type nodeSeen struct {
	id, addr                     string
	index                        int
	at                           float64            // of the last sample
	last                         *result.NodeSample // that answered, and from which a rate may be told
	roles                        []result.RoleSpan
	cpu, in, out                 []point
	reads, writes, replicated    []point
	anyCPU, anyBytes, anyCommand bool
}

// addSample adds a sample of a node; those of endpoints' names are no node's.
func (b *Builder) addSample(s result.NodeSample) {
	if s.Role == "endpoint" {
		return
	}
	n := b.node(s)
	if s.AtS < n.at || n.last != nil && s.Addr != n.last.Addr && !s.Up {
		return // overtaken, or of where the node was before
	}
	n.at = s.AtS
	n.setRole(s)
	n.addRates(s)
}

func (b *Builder) node(s result.NodeSample) *nodeSeen {
	for _, n := range b.nodes {
		if n.id == s.ID {
			n.addr = s.Addr
			return n
		}
	}
	n := &nodeSeen{id: s.ID, addr: s.Addr, index: len(b.nodes)}
	b.nodes = append(b.nodes, n)
	return n
}

func (n *nodeSeen) setRole(s result.NodeSample) {
	role := s.Role
	if !s.Up {
		role = "unreachable"
	}
	if k := len(n.roles); k == 0 || n.roles[k-1].Role != role {
		n.roles = append(n.roles, result.RoleSpan{FromS: s.AtS, Role: role})
	}
}

// leastS and mostS bound the time between two samples to tell a rate of, seconds:
// two that lie closer are a phase's border, and over a long silence a rate says
// nothing.
const leastS, mostS = 0.5, 15

func (n *nodeSeen) addRates(s result.NodeSample) {
	prev := n.last
	if !s.Up {
		n.last = nil
		return
	}
	if prev != nil && prev.RunID == s.RunID && s.AtS-prev.AtS < leastS {
		return
	}
	n.last = &s
	if prev == nil || prev.RunID != s.RunID || s.AtS-prev.AtS > mostS {
		return
	}
	rate := func(to *[]point, have *bool, before, after float64) {
		*have = *have || after > 0
		*to = during(*to, prev.AtS, s.AtS, max(0, after-before)/(s.AtS-prev.AtS))
	}
	rate(&n.cpu, &n.anyCPU, 100*prev.CPUSeconds, 100*s.CPUSeconds)
	rate(&n.in, &n.anyBytes, float64(prev.NetInBytes), float64(s.NetInBytes))
	rate(&n.out, &n.anyBytes, float64(prev.NetOutBytes), float64(s.NetOutBytes))
	reads, writes := calls(s)
	readsBefore, writesBefore := calls(*prev)
	if len(s.Commands) == 0 || len(prev.Commands) == 0 {
		return
	}
	rate(&n.reads, &n.anyCommand, readsBefore, reads)
	if s.Role == "replica" { // what it took over from its primary, which it counts alike
		rate(&n.replicated, &n.anyCommand, writesBefore, writes)
	} else {
		rate(&n.writes, &n.anyCommand, writesBefore, writes)
	}
}

// calls counts the ranking's commands; the others are the observer's questions
// and the servers' own.
func calls(s result.NodeSample) (reads, writes float64) {
	for name, n := range s.Commands {
		switch {
		case name == "zadd":
			writes += float64(n)
		case strings.HasPrefix(name, "z"):
			reads += float64(n)
		}
	}
	return reads, writes
}

// lane is the node's lane: its role as a strip, and what it did.
func (n *nodeSeen) lane(g grid, toS float64) Lane {
	l := Lane{ID: "node-" + itoa(n.index), Title: "Node " + clean(n.id), StepS: g.step,
		About:  "Node " + clean(n.id) + " at " + clean(n.addr) + ": its role as sampled, processor, bytes, and commands of the ranking.",
		Strips: []Strip{n.roleStrip(toS)}}
	if n.anyCPU {
		l.Panels = append(l.Panels, Panel{"CPU of one processor", "pct", Lines, "cpu", []Series{g.series("cpu", "c1", n.cpu)}})
	}
	if n.anyBytes {
		l.Panels = append(l.Panels, Panel{"Network", "bytes_per_s", Lines, "bytes", []Series{g.series("in", "c2", n.in), g.series("out", "c3", n.out)}})
	}
	if n.anyCommand {
		l.Panels = append(l.Panels, Panel{"Commands served", "per_s", Lines, "commands",
			[]Series{g.series("reads", "c3", n.reads), g.series("writes", "c1", n.writes), g.series("replicated", "c4", n.replicated)}})
	}
	return l
}

func (n *nodeSeen) roleStrip(toS float64) Strip {
	s := Strip{Name: "role", Spans: []Span{}}
	for i, r := range n.roles {
		to := toS
		if i+1 < len(n.roles) {
			to = n.roles[i+1].FromS
		} else if n.at < toS-mostS {
			to = n.at // it left
		}
		s.Spans = append(s.Spans, Span{r.FromS, to, roleLook(r.Role), clean(r.Role)})
	}
	return s
}

func roleLook(role string) string {
	switch role {
	case "primary", "replica", "unreachable":
		return role
	}
	return "plain1"
}
