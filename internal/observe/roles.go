package observe

import (
	"cmp"
	"sync"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

// claimHolds is for how long a node without cluster mode must say that it is
// primary, while its own primary says the same, until it is believed.
const claimHolds = time.Second

// roles turns what nodes say of their roles into events. That a replica has
// become primary is told when there is evidence beside its own word: a process
// that has just been started in the place of a replica says it, too, until it
// learns whom to copy. Any of this is evidence: it takes the canary in a cluster,
// where only the owner of the slot does; the primary that it copied does not
// answer or is none any more; without cluster mode, time. The event has the time
// of its first word.
type roles struct {
	cluster bool
	name    func(addr string) string

	mu    sync.Mutex // held while an event is told, so that events come in order
	tell  func(result.Event)
	alias map[string]string
	nodes map[string]*standing // by address
	begun bool                 // whether any node has said its role
}

// standing is one node's.
type standing struct {
	addr  string
	up    bool              // answered the last question
	role  string            // as it last said; deposed, if it died as primary and has a successor
	told  result.NodeSample // its role as it is known; Role "" if it never said
	claim *result.NodeSample
	since time.Duration // of claim
}

// What a node is for that says nothing: no node's role.
const (
	deposed = "deposed"
	silent  = "silent" // it never said anything, while others have
)

func newRoles(cluster bool, name func(string) string) *roles {
	return &roles{cluster: cluster, name: name, nodes: map[string]*standing{}}
}

func (r *roles) tellTo(tell func(result.Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell = tell
}

// say tells an event that others found, one at a time with those of roles.
func (r *roles) say(e result.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(e)
}

// know takes over the other addresses of nodes.
func (r *roles) know(alias map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alias = alias
}

func (r *roles) canonical(addr string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.proper(addr)
}

// proper is the address under which a node is listed.
func (r *roles) proper(addr string) string { return cmp.Or(r.alias[addr], addr) }

// of is the role that the node at addr last said it had; "" if nobody has said any.
func (r *roles) of(addr string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.at(addr); s.role != "" || !r.begun {
		return s.role
	}
	return silent
}

func (r *roles) at(addr string) *standing {
	s := r.nodes[addr]
	if s == nil {
		s = &standing{addr: addr}
		r.nodes[addr] = s
	}
	return s
}

// heard takes in what a node has just said.
func (r *roles) heard(addr string, at time.Duration, said role) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.at(addr)
	s.up, s.role, r.begun = true, said.name, true
	is := result.NodeSample{
		AtS: at.Seconds(), ID: idOf(addr, r.name), Addr: addr, Role: said.name,
		PrimaryAddr: r.proper(said.primary),
	}
	switch {
	case s.told.Role == "": // where things stand, not a change
		s.told = is
	case is.Role == "primary" && s.told.Role == "replica":
		if s.claim == nil {
			s.claim, s.since = &is, at
		}
	default:
		s.claim = nil
		r.change(s, is)
	}
	r.settle(at)
}

// change tells what a node has become, if it has. A replica that does not say
// whose it is has not changed its primary.
func (r *roles) change(s *standing, is result.NodeSample) {
	if is.Role == s.told.Role && (is.PrimaryAddr == r.proper(s.told.PrimaryAddr) || is.PrimaryAddr == "") {
		return
	}
	former := r.proper(s.told.PrimaryAddr)
	s.told = is
	ids := map[string]string{is.PrimaryAddr: r.name(is.PrimaryAddr), former: r.name(former)}
	for _, e := range eventsOf(is, []string{becameText(is, former, ids)}) {
		r.tell(e)
	}
}

// failed takes in that a node did not answer.
func (r *roles) failed(addr string, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at(addr).up = false
	r.settle(at)
}

// wrote takes in that a node took the canary.
func (r *roles) wrote(addr string, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.at(addr); r.cluster && s.claim != nil {
		r.believe(s)
		r.settle(at)
	}
}

// settle believes the claims that there is evidence for.
func (r *roles) settle(at time.Duration) {
	for _, s := range r.nodes {
		if s.claim == nil {
			continue
		}
		old := r.nodes[r.proper(s.told.PrimaryAddr)]
		if old == nil || !old.up || old.role != "primary" || !r.cluster && at-s.since >= claimHolds {
			r.believe(s)
		}
	}
}

func (r *roles) believe(s *standing) {
	if old := r.nodes[r.proper(s.told.PrimaryAddr)]; old != nil && !old.up {
		old.role = deposed
	}
	is := *s.claim
	s.claim = nil
	r.change(s, is)
}

func (r *roles) forget(addr string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.nodes, addr)
}
