package observe

import (
	"maps"
	"slices"
	"time"
)

// roster is which addresses there are to ask, and which of them the topology
// names. It knows no connection but to close one.
type roster struct {
	cluster bool
	nodes   map[string]*node  // by address
	alias   map[string]string // other addresses of a node, to the one it is listed under
	viewAt  time.Duration     // when the topology was last told by anybody
	viewed  bool              // whether it ever was
	blind   bool              // no listed node answered in the last round: ask the seeds again
}

func newRoster(cluster bool, seeds []string) roster {
	r := roster{cluster: cluster, nodes: map[string]*node{}, alias: map[string]string{}, blind: true}
	for _, addr := range seeds {
		r.nodes[addr] = &node{addr: addr, seed: true}
	}
	return r
}

// viewsDue says whether CLUSTER NODES is to be asked for at offset now.
func (r *roster) viewsDue(now time.Duration) bool {
	return r.cluster && (!r.viewed || r.blind || now-r.viewAt >= viewEvery)
}

// onlySeeds says that nobody has yet told of the topology.
func (r *roster) onlySeeds() bool { return !r.viewed }

// unasked returns the nodes to ask that have no answer yet. In a cluster a seed
// that is no node's own address (a configuration endpoint) is asked only when
// no node answers; otherwise an endpoint may lead to a node that nothing names.
func (r *roster) unasked(answers map[string]answer) []*node {
	var nodes []*node
	for _, addr := range slices.Sorted(maps.Keys(r.nodes)) {
		n := r.nodes[addr]
		if _, ok := answers[addr]; !ok && (!r.cluster || r.known(n) || r.blind || !r.viewed) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// known says whether the topology names n, or has within the last minute.
func (r *roster) known(n *node) bool { return n.named || n.listed }

// learn takes in what the answers of a round, so far, say of the topology.
func (r *roster) learn(answers map[string]answer) {
	if r.cluster {
		r.learnViews(answers)
		return
	}
	for _, a := range answers {
		if a.err == nil {
			r.learnRole(a)
		}
	}
}

// learnRole lists whom the role names. Nobody is struck off: a primary forgets a
// replica at its death and knows it again at its return, so only time tells (forget).
func (r *roster) learnRole(a answer) {
	r.seen(a.at)
	for _, addr := range a.role.replicas {
		r.list(addr, a.at)
	}
	if a.role.primary != "" {
		r.list(a.role.primary, a.at)
	}
}

// learnViews lists the union of what the nodes tell. What a node tells of itself
// counts only when no other node tells anything: a node that all others have
// forgotten still knows itself.
func (r *roster) learnViews(answers map[string]answer) {
	servers := tellers(answers)
	if servers == 0 {
		return
	}
	for _, n := range r.nodes {
		n.listed = false
	}
	for _, a := range answers {
		r.learnView(a, servers == 1)
	}
}

func (r *roster) learnView(a answer, alone bool) {
	for _, m := range a.view {
		r.seen(a.at)
		r.alias[m.ip] = m.addr
		if !m.myself || alone {
			r.list(m.addr, a.at)
		}
	}
}

// tellers counts the servers that told of the topology; two addresses may be one server.
func tellers(answers map[string]answer) int {
	ids := map[string]bool{}
	for _, a := range answers {
		for _, m := range a.view {
			if m.myself {
				ids[m.id] = true
			}
		}
	}
	return len(ids)
}

func (r *roster) seen(at time.Duration) {
	r.viewAt, r.viewed = max(r.viewAt, at), true
}

func (r *roster) list(addr string, at time.Duration) {
	n := r.nodes[addr]
	if n == nil {
		n = &node{addr: addr}
		r.nodes[addr] = n
	}
	n.listed, n.named, n.listedAt = true, true, max(n.listedAt, at)
}

// forget drops the nodes that left the topology a minute ago. The minute runs
// only while somebody tells of the topology.
func (r *roster) forget() {
	for addr, n := range r.nodes {
		if r.viewAt-n.listedAt < keepFor || !n.named {
			continue
		}
		n.named, n.listed = false, false
		if !n.seed {
			_ = n.hangUp() // the node has gone; what closing says does not matter
			delete(r.nodes, addr)
		}
	}
}
