package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// change is one change of the cluster that is under way.
type change struct{ cancel context.CancelCauseFunc }

// begin starts a change: its context also ends with Stop, which waits until end
// has been called.
func (c *Cluster) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return nil, nil, ErrStopped
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ch := &change{cancel: cancel}
	c.changes[ch] = true
	c.changing.Add(1)
	return ctx, func() {
		cancel(nil)
		c.mu.Lock()
		delete(c.changes, ch)
		c.mu.Unlock()
		c.changing.Done()
	}, nil
}

// beginWith is begin of a change of one member, which then has standing s until
// end. Nobody else can change it meanwhile.
func (c *Cluster) beginWith(ctx context.Context, id string, s standing) (context.Context, *node, func(), error) {
	n, err := c.reserve(id, s)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, end, err := c.begin(ctx)
	if err != nil {
		c.stand(n, member)
		return nil, nil, nil, err
	}
	return ctx, n, func() { c.stand(n, member); c.keepTime(ctx, n); end() }, nil
}

// reserve gives a member another standing.
func (c *Cluster) reserve(id string, s standing) (*node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.find(id)
	if err != nil {
		return nil, err
	}
	if n.standing != member {
		return nil, errors.New("it is being changed already")
	}
	n.standing = s
	return n, nil
}

// stand gives n a standing.
func (c *Cluster) stand(n *node, s standing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.standing = s
}

// find finds a node by its name. The caller holds mu.
func (c *Cluster) find(id string) (*node, error) {
	for _, n := range c.nodes {
		if n.id == id {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no such node, there are %s to %s", c.nodes[0].id, c.nodes[len(c.nodes)-1].id)
}

// members are the nodes that belong to the cluster, whether they run or not.
func (c *Cluster) members() []*node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool { return n.standing != member })
}

// enter adds nodes to the cluster's, in the order of their names.
func (c *Cluster) enter(nodes ...*node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range nodes {
		if _, err := c.find(n.id); err == nil {
			return fmt.Errorf("there is a %s already", n.id)
		}
	}
	c.nodes = append(slices.Clip(c.nodes), nodes...)
	slices.SortStableFunc(c.nodes, func(a, b *node) int {
		if a.shard != b.shard {
			return a.shard - b.shard
		}
		return strings.Compare(a.id, b.id)
	})
	return nil
}

// strike takes nodes out of the cluster's.
func (c *Cluster) strike(nodes ...*node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes = slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool { return slices.Contains(nodes, n) })
}

// inShard are those of nodes that are built for a shard.
func inShard(nodes []*node, shard int) []*node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *node) bool { return n.shard != shard })
}

// shardNumber reads ElastiCache's name of a shard, 0001, as counted from 0.
func shardNumber(id string) (int, error) {
	var number int
	if _, err := fmt.Sscanf(id, "%04d", &number); err != nil || number < 1 || shardID(number-1) != id {
		return 0, fmt.Errorf("shard %q: want 0001 to 9999", id)
	}
	return number - 1, nil
}

// knownPrimary is the primary of a shard as last known; a shard always has one.
func (c *Cluster) knownPrimary(shard int) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.nodes, func(n *node) bool { return n.shard == shard && n.primary })
	if i < 0 {
		return c.nodes[0]
	}
	return c.nodes[i]
}

// knowPrimary notes that n is the primary of its shard.
func (c *Cluster) knowPrimary(n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.nodes {
		if other.shard == n.shard {
			other.primary = other == n
		}
	}
}
