package analyze

import (
	"maps"
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// nodeTable adds up the samples of each node.
type nodeTable struct{ byID map[string]*node }

func newNodeTable() *nodeTable { return &nodeTable{byID: map[string]*node{}} }

// node adds up what one node did from its first sample on. Counters of the
// server are differences between samples; where the server was restarted in
// between (another run id), it counts from 0 again, and what it did between
// its last sample and its end is not known.
type node struct {
	id, addr    string
	last        *result.NodeSample // that answered
	at          float64            // of the last sample of any kind
	roles       []result.RoleSpan
	commands    map[string]uint64
	replicated  map[string]uint64
	busy        usage
	usedMemory  uint64
	maxLag      int64
	linkDown    float64
	unreachable float64
	restarts    int
	driver      *result.DriverSample
	driver0     result.DriverSample
}

// usage is what is reported by time: over the measured part only.
type usage struct {
	seconds, cpu, engine float64
	hasEngine            bool
	in, out              float64
}

// add adds a sample; shares of time count from offset measured on.
func (t *nodeTable) add(s result.NodeSample, measured float64) {
	n := t.byID[s.ID]
	if n == nil {
		n = &node{id: s.ID, commands: map[string]uint64{}, replicated: map[string]uint64{}, at: s.AtS}
		t.byID[s.ID] = n
	}
	if s.AtS < n.at {
		return // overtaken by the sample of a phase's boundary
	}
	if n.last != nil && s.Addr != n.last.Addr && !s.Up {
		return // a node is where it answers
	}
	n.addr = s.Addr
	n.setRole(s)
	n.addTimes(s)
	n.addDriver(s)
	if s.Up {
		n.addCounters(s, measured)
		n.usedMemory = s.UsedMemory
		n.maxLag = max(n.maxLag, s.LagBytes)
	}
	n.at = s.AtS
}

func (n *node) setRole(s result.NodeSample) {
	role := s.Role
	if !s.Up {
		role = "unreachable"
	}
	if len(n.roles) == 0 || n.roles[len(n.roles)-1].Role != role {
		n.roles = append(n.roles, result.RoleSpan{FromS: s.AtS, Role: role})
	}
}

func (n *node) addTimes(s result.NodeSample) {
	since := s.AtS - n.at
	switch {
	case !s.Up:
		n.unreachable += since
	case s.Link == "down":
		n.linkDown += since
	}
}

func (n *node) addDriver(s result.NodeSample) {
	if s.Driver == nil {
		return
	}
	if n.driver == nil {
		n.driver, n.driver0 = &result.DriverSample{}, *s.Driver
	}
	*n.driver = result.DriverSample{
		Attempts: s.Driver.Attempts - n.driver0.Attempts,
		Errors:   s.Driver.Errors - n.driver0.Errors,
		Connects: s.Driver.Connects - n.driver0.Connects,
	}
}

func (n *node) addCounters(s result.NodeSample, measured float64) {
	prev := n.last
	n.last = &s
	if prev == nil {
		return
	}
	restarted := prev.RunID != s.RunID
	if restarted {
		n.restarts++
		prev = &result.NodeSample{AtS: prev.AtS}
	}
	for name, calls := range s.Commands {
		if d := int64(calls) - int64(prev.Commands[name]); d > 0 {
			n.countersOf(name, s.Role)[name] += uint64(d)
		}
	}
	if n.last.AtS > prev.AtS && prev.AtS >= measured {
		n.busy.add(*prev, s)
	}
}

// writes are the commands that rankbench writes with. A replica refuses them
// from clients, and a refused command is not counted as a call.
var writes = []string{"zadd", "hset", "unlink"}

func (n *node) countersOf(command, role string) map[string]uint64 {
	if role == "replica" && slices.Contains(writes, command) {
		return n.replicated
	}
	return n.commands
}

func (u *usage) add(from, to result.NodeSample) {
	u.seconds += to.AtS - from.AtS
	u.cpu += to.CPUSeconds - from.CPUSeconds
	u.engine += to.EngineCPUSeconds - from.EngineCPUSeconds
	u.hasEngine = u.hasEngine || to.EngineCPUSeconds > 0
	u.in += float64(to.NetInBytes) - float64(from.NetInBytes)
	u.out += float64(to.NetOutBytes) - float64(from.NetOutBytes)
}

func (t *nodeTable) summary() []result.Node {
	out := []result.Node{}
	for _, id := range slices.Sorted(maps.Keys(t.byID)) {
		out = append(out, t.byID[id].summary())
	}
	return out
}

func (n *node) summary() result.Node {
	s := result.Node{
		ID: n.id, Addr: n.addr, Roles: n.roles, Commands: n.commands, Replicated: n.replicated,
		UsedMemoryBytes: n.usedMemory, MaxLagBytes: n.maxLag,
		LinkDownS: n.linkDown, UnreachableS: n.unreachable, Restarts: n.restarts, Driver: n.driver,
	}
	if u := n.busy; u.seconds >= leastUsageS {
		s.CPUPct = u.share(100 * u.cpu)
		s.NetInBytesPerMin, s.NetOutBytesPerMin = u.share(60*u.in), u.share(60*u.out)
		if u.hasEngine {
			s.EngineCPUPct = u.share(100 * u.engine)
		}
	}
	return s
}

// leastUsageS is the shortest time to tell a rate of, seconds: samples are a
// second apart, but for those at a phase's borders.
const leastUsageS = 0.5

func (u usage) share(v float64) *float64 {
	v /= u.seconds
	return &v
}
