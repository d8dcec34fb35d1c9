package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
)

// Shard is one shard as its nodes see it now. A node that is dead, hung, being
// replaced, rebooted or removed is not in it.
type Shard struct {
	ID       string   // 0001
	Primary  string   // a node's ID; "" while no node that answers is the primary
	Replicas []string // IDs of the nodes that copy Primary, or that wait for a successor of the one they copied
	Slots    []Range  // of the primary, also of one that is dead and has no successor; none without cluster mode
}

// Range is a range of slots, both ends included.
type Range struct{ First, Last int }

// Topology asks all nodes what they are now and returns the shards by ID. It
// takes no longer than the slowest node, and a second at most. The error is
// ErrStopped or that no node has answered.
func (c *Cluster) Topology(ctx context.Context) ([]Shard, error) {
	if err := c.stoppedFirst(nil); err != nil {
		return nil, fmt.Errorf("look at the topology: %w", err)
	}
	members := c.members()
	views := c.look(ctx, members)
	if len(views) == 0 {
		return nil, fmt.Errorf("look at the topology: none of %d nodes answers", len(members))
	}
	var shards []Shard
	for _, number := range shardsOf(members) {
		s := Shard{ID: shardID(number), Slots: c.shardSlots(views, number)}
		primary := c.primaryView(views, number)
		if primary != nil {
			s.Primary = primary.node.id
			c.knowPrimary(primary.node)
		}
		for _, v := range viewsIn(views, number) {
			if v.copies(primary, views) {
				s.Replicas = append(s.Replicas, v.node.id)
			}
		}
		shards = append(shards, s)
	}
	return shards, nil
}

// shardsOf are the shards of nodes, counted from 0, in order.
func shardsOf(nodes []*node) []int {
	var numbers []int
	for _, n := range nodes {
		numbers = append(numbers, n.shard)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// viewsIn are the views of a shard's nodes.
func viewsIn(views []*view, shard int) []*view {
	return slices.DeleteFunc(slices.Clone(views), func(v *view) bool { return v.node.shard != shard })
}

// primaryView is the view of a shard's primary, nil if it does not answer. Of two
// nodes that take themselves for it, one was hung and does not know yet that it
// has a successor, who has the greater epoch; without cluster mode it is the one
// that this package has made the primary.
func (c *Cluster) primaryView(views []*view, shard int) *view {
	primaries := slices.DeleteFunc(viewsIn(views, shard), func(v *view) bool { return !v.isPrimary() })
	if len(primaries) == 0 {
		return nil
	}
	known := c.knownPrimary(shard)
	return slices.MaxFunc(primaries, func(a, b *view) int {
		return cmp.Or(cmp.Compare(a.self.epoch, b.self.epoch), compareBool(a.node == known, b.node == known))
	})
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// copies tells whether v is a replica of primary, or of one that is away.
func (v *view) copies(primary *view, views []*view) bool {
	if v.isPrimary() {
		return false
	}
	if primary != nil {
		return v.follows(primary)
	}
	return !slices.ContainsFunc(views, v.follows)
}

// follows tells whether v takes other for its primary.
func (v *view) follows(other *view) bool {
	if v.self.id != "" {
		return v.self.primary == other.self.id
	}
	return v.primaryAddr() == other.node.addr()
}

// primaryAddr is where a replica gets its data from.
func (v *view) primaryAddr() string {
	return net.JoinHostPort(field(v.replication, "master_host"), field(v.replication, "master_port"))
}

// shardSlots are the slots of a shard, as its primary says, and where that does
// not answer as others last heard from it.
func (c *Cluster) shardSlots(views []*view, shard int) []Range {
	if primary := c.primaryView(views, shard); primary != nil {
		return primary.self.slots
	}
	var best row
	for _, n := range inShard(c.members(), shard) {
		id := c.idOf(n)
		for _, v := range views {
			if r := v.rows[id]; r.is("master") && len(r.slots) > 0 && r.epoch >= best.epoch {
				best = r
			}
		}
	}
	return best.slots
}

// BestReplica returns the replica of a shard that has got furthest in copying its
// primary, whether that still runs or not. A replica that waits for its first
// copy, or does not answer, is none.
func (c *Cluster) BestReplica(ctx context.Context, shard string) (string, error) {
	number, err := shardNumber(shard)
	if err != nil {
		return "", fmt.Errorf("find the best replica: %w", err)
	}
	replicas := slices.DeleteFunc(c.look(ctx, inShard(c.members(), number)), func(v *view) bool {
		return v.isPrimary() || v.offset() < 0
	})
	if len(replicas) == 0 {
		return "", fmt.Errorf("find the best replica: shard %s has none that answers", shard)
	}
	// The first of several, so that the choice is always the same.
	best := slices.MaxFunc(replicas, func(a, b *view) int { return cmp.Compare(a.offset(), b.offset()) })
	return best.node.id, nil
}

// count is how many slots there are in ranges.
func count(ranges []Range) int {
	n := 0
	for _, r := range ranges {
		n += r.Last - r.First + 1
	}
	return n
}

// String is how Redis and ElastiCache write a range: 0-5460, or 7.
func (r Range) String() string {
	if r.First == r.Last {
		return strconv.Itoa(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}
