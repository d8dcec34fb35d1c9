package observe

import (
	"cmp"
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// sighting is a node's sample of one round, and whether the topology names it.
type sighting struct {
	result.NodeSample
	listed bool
}

func samplesOf(seen []sighting) []result.NodeSample {
	samples := make([]result.NodeSample, len(seen))
	for i, s := range seen {
		samples[i] = s.NodeSample
	}
	return samples
}

// report makes the round's samples: one a node, sorted by ID.
func report(r *roster, name func(string) string, answers map[string]answer) []sighting {
	shown := r.shown(name, answers)
	r.blind = !slices.ContainsFunc(shown, func(n *node) bool { return answers[n.addr].err == nil })
	seen := make([]sighting, 0, len(shown))
	for _, n := range shown {
		listed := n.listed || n.seed && !n.named
		seen = append(seen, sighting{r.sample(answers[n.addr], name), listed})
	}
	setLag(seen)
	slices.SortFunc(seen, func(a, b sighting) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.standing(), b.standing()), cmp.Compare(a.Addr, b.Addr))
	})
	return slices.CompactFunc(seen, func(a, b sighting) bool { return a.ID == b.ID })
}

// standing tells where a node is of several addresses that have its id: one that
// was replaced, or removed and made anew, has been at others. 0 is best.
func (s sighting) standing() int {
	switch {
	case s.Up && s.listed:
		return 0
	case s.Up:
		return 1
	case s.listed:
		return 2
	}
	return 3
}

// shown chooses one address for each server that was asked. Several may lead to
// one: a primary endpoint and a node's own address, localhost and 127.0.0.1. They
// are told by the server's run id, also when it has died since; the others
// become aliases. Preferred is the address with a name, then the one that the
// topology names (an endpoint moves to another server at a failover), then the seed.
func (r *roster) shown(name func(string) string, answers map[string]answer) []*node {
	best := map[string]*node{}
	var shown []*node
	for addr := range answers {
		n := r.nodes[addr]
		switch {
		case n == nil || r.cluster && r.viewed && !r.known(n):
		case n.runID == "":
			shown = append(shown, n)
		case best[n.runID] == nil || prefer(n, best[n.runID], name) < 0:
			best[n.runID] = n
		}
	}
	for addr := range answers {
		if n := r.nodes[addr]; n != nil && best[n.runID] != nil && best[n.runID] != n {
			r.alias[addr] = best[n.runID].addr
		}
	}
	for _, n := range best {
		delete(r.alias, n.addr)
		shown = append(shown, n)
	}
	return shown
}

func prefer(a, b *node, name func(string) string) int {
	rank := func(n *node) int {
		switch {
		case name(n.addr) != "":
			return 0
		case n.named:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.addr, b.addr))
}

func (r *roster) sample(a answer, name func(string) string) result.NodeSample {
	s := result.NodeSample{AtS: a.at.Seconds(), ID: idOf(a.addr, name), Addr: a.addr}
	if a.err != nil {
		s.Error = reason(a.err)
		return s
	}
	s.Up = true
	s.Role = a.role.name
	s.PrimaryAddr = r.canonical(a.role.primary)
	if a.info["loading"] == "1" {
		s.Error = "loading"
	}
	fillInfo(&s, a.info)
	return s
}

func idOf(addr string, name func(string) string) string {
	return cmp.Or(name(addr), addr)
}

// canonical is the address that the node at addr is listed under.
func (r *roster) canonical(addr string) string {
	return cmp.Or(r.alias[addr], addr)
}

// setLag says how many bytes each replica is behind its primary's offset in the
// same round. Both are asked within one round trip of each other but not at one
// instant, so that a lag of what is written in a round trip is noise. It is 0
// where the primary did not answer.
func setLag(seen []sighting) {
	byAddr := map[string]sighting{}
	for _, s := range seen {
		byAddr[s.Addr] = s
	}
	for i := range seen {
		s := &seen[i]
		if p := byAddr[s.PrimaryAddr]; s.Up && p.Up && s.PrimaryAddr != "" {
			s.LagBytes = max(0, p.ReplOffset-s.ReplOffset)
		}
	}
}
