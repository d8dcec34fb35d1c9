package control

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/local/cluster"
)

// group is a replication group. Its fields are guarded by Plane.mu, but for
// those that never change: id, in, created, clusterEnabled, timings.
type group struct {
	id             string
	in             CreateInput
	created        time.Time
	clusterEnabled bool
	timings        Timings

	cluster *cluster.Cluster // nil while it is being created
	status  string
	busy    string        // the operation that goes on; "" for none
	moved   *float64      // percent of the slots, while they move
	shards  []*shard      // by id
	pause   time.Duration // before the next recovery; 0 unless the last operation failed
}

type shard struct {
	id      string // 0001
	status  string
	slots   string
	primary string // id of the node that is primary, as last seen
	members []*member
}

// member is a node. It is down from its death to the end of its replacement.
type member struct {
	id      string
	zone    string
	status  string
	created time.Time
	host    string
	port    int
	joined  bool // part of the node group: its process has been up
	down    bool
}

func (m *member) addr() string { return net.JoinHostPort(m.host, strconv.Itoa(m.port)) }

func (m *member) endpoint() Endpoint { return Endpoint{Address: m.host, Port: m.port} }

// autoFailover is on unless it was refused, and needs a replica.
func (g *group) autoFailover() bool {
	if g.in.AutomaticFailover != nil {
		return *g.in.AutomaticFailover
	}
	return g.clusterEnabled
}

func (g *group) shard(id string) *shard {
	for _, s := range g.shards {
		if s.id == id {
			return s
		}
	}
	return nil
}

// member finds a node and its shard.
func (g *group) member(id string) (*shard, *member) {
	for _, s := range g.shards {
		if m := s.member(id); m != nil {
			return s, m
		}
	}
	return nil, nil
}

func (s *shard) member(id string) *member {
	for _, m := range s.members {
		if m.id == id {
			return m
		}
	}
	return nil
}

// replicas lists the members that are part of the shard and not its primary.
func (s *shard) replicas() []*member {
	var all []*member
	for _, m := range s.members {
		if m.joined && m.id != s.primary {
			all = append(all, m)
		}
	}
	return all
}

// expect adds a member that is about to be created.
func (p *Plane) expect(s *shard, id string) *member {
	m := &member{id: id, status: Creating, created: time.Now(), zone: p.zone(len(s.members))}
	s.members = append(s.members, m)
	slices.SortFunc(s.members, func(a, b *member) int { return cmp.Compare(a.id, b.id) })
	return m
}

// zone is the availability zone of the n-th node of a shard.
func (p *Plane) zone(n int) string { return p.opts.Region + string(rune('a'+n%3)) }

// join makes m a member with the address that its node has.
func (m *member) join(n cluster.Node) {
	m.host, m.port = n.Host, n.Port
	m.status, m.joined, m.down = Available, true, n.PID == 0
}

// settle ends what goes on with shards and members, and forgets those that have
// not come up.
func (g *group) settle() {
	for _, s := range g.shards {
		s.status = Available
		s.members = slices.DeleteFunc(s.members, func(m *member) bool { return !m.joined })
		for _, m := range s.members {
			if !m.down {
				m.status = Available
			}
		}
	}
	g.shards = slices.DeleteFunc(g.shards, func(s *shard) bool { return len(s.members) == 0 })
}

// refresh looks who is primary of which shard, and which slots they have. What
// cannot be asked stays as it was.
func (p *Plane) refresh(ctx context.Context, g *group) error {
	p.mu.Lock()
	c := g.cluster
	p.mu.Unlock()
	if c == nil {
		return nil
	}
	topology, err := c.Topology(ctx)
	if err != nil {
		return fmt.Errorf("ask for the topology of %s: %w", g.id, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, seen := range topology {
		s := g.shard(seen.ID)
		if s == nil || seen.Primary == "" {
			continue
		}
		s.primary = seen.Primary
		if g.clusterEnabled {
			s.slots = slotText(seen.Slots)
		}
	}
	return nil
}

// slotText is ElastiCache's notation: "0-5460,10923-16383".
func slotText(ranges []cluster.Range) string {
	var parts []string
	for _, r := range ranges {
		if r.First == r.Last {
			parts = append(parts, strconv.Itoa(r.First))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", r.First, r.Last))
		}
	}
	return strings.Join(parts, ",")
}

// freeID is the name of the next node of s: the lowest number that is free. The
// caller holds mu.
func (g *group) freeID(s *shard) string {
	prefix := g.id
	if g.clusterEnabled {
		prefix += "-" + s.id
	}
	for n := 1; ; n++ {
		id := fmt.Sprintf("%s-%03d", prefix, n)
		if s.member(id) == nil {
			return id
		}
	}
}
