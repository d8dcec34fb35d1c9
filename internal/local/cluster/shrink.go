package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// undoTakes bounds what has to be done although the caller's context has ended.
const undoTakes = 10 * time.Second

// Remove takes node id, a replica, out of the cluster without disturbing clients
// that know where to look. First all other nodes forget it, so that it is in
// their topology no more; then Remove waits until it has served no command of a
// client for idle, but no longer than limit or until ctx ends; then its process
// is ended and its folder removed. While Remove waits, it is still in Nodes and
// answers whoever asks it. A primary is refused. After that nothing stops Remove:
// that somebody does not forget the node is told on Options.Log.
func (c *Cluster) Remove(ctx context.Context, id string, idle, limit time.Duration) error {
	if err := c.removeReplica(ctx, id, idle, limit); err != nil {
		return fmt.Errorf("remove %s: %w", id, err)
	}
	return nil
}

func (c *Cluster) removeReplica(ctx context.Context, id string, idle, limit time.Duration) error {
	ctx, n, end, err := c.beginWith(ctx, id, leaving)
	if err != nil {
		return err
	}
	defer end()
	c.mu.Lock()
	known := n.primary
	c.mu.Unlock()
	// Of a node that is dead or hung only the last known role tells anything.
	if v, err := c.view(ctx, n); err == nil && v.isPrimary() || err != nil && known {
		return errors.New("it is its shard's primary")
	}
	return c.drainAway(ctx, []*node{n}, idle, limit)
}

// RemoveShard takes a shard that has no slots any more out of the cluster, all
// its nodes as Remove does one.
func (c *Cluster) RemoveShard(ctx context.Context, shard string, idle, limit time.Duration) error {
	if err := c.removeShard(ctx, shard, idle, limit); err != nil {
		return fmt.Errorf("remove shard %s: %w", shard, err)
	}
	return nil
}

func (c *Cluster) removeShard(ctx context.Context, shard string, idle, limit time.Duration) error {
	number, err := shardNumber(shard)
	if err != nil {
		return err
	}
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	nodes, err := c.reserveShard(ctx, number)
	if err != nil {
		return err
	}
	defer func() {
		for _, n := range nodes {
			c.stand(n, member) // where removing has failed
		}
	}()
	return c.drainAway(ctx, nodes, idle, limit)
}

// reserveShard reserves all nodes of a shard for their removal.
func (c *Cluster) reserveShard(ctx context.Context, shard int) ([]*node, error) {
	members := c.members()
	if left := count(c.shardSlots(c.look(ctx, members), shard)); left > 0 || c.opts.Standalone {
		return nil, fmt.Errorf("it still serves %d slots", left)
	}
	nodes := inShard(members, shard)
	if len(nodes) == 0 {
		return nil, errors.New("there is no such shard")
	}
	for i, n := range nodes {
		if _, err := c.reserve(n.id, leaving); err != nil {
			for _, reserved := range nodes[:i] {
				c.stand(reserved, member)
			}
			return nil, fmt.Errorf("%s: %w", n.id, err)
		}
	}
	return nodes, nil
}

// drainAway removes nodes, which are leaving, once nobody needs them.
func (c *Cluster) drainAway(ctx context.Context, nodes []*node, idle, limit time.Duration) error {
	// Once some have forgotten them, all have to, also if ctx ends in between or
	// somebody does not hear it: those are told again below.
	_ = c.forget(ctx, nodes...)
	c.drain(ctx, nodes, idle, limit)
	// Out of the topology there is no way back: it is finished in any case.
	if err := c.takeAway(context.WithoutCancel(ctx), nodes...); err != nil {
		// Not returned: to the caller that would say that they are still there.
		fmt.Fprintf(c.log, "removed %s, but: %v\n", strings.Join(names(nodes), ", "), err)
	}
	return nil
}

// takeAway makes all members forget nodes, ends them and removes what they have
// left, and their names are free again.
func (c *Cluster) takeAway(ctx context.Context, nodes ...*node) error {
	err := c.forget(ctx, nodes...)
	for _, n := range nodes {
		c.end(n, syscall.SIGTERM)
		err = cmp.Or(err, remove(n))
		c.places.release(n.host, n.port)
	}
	c.strike(nodes...)
	return err
}

// remove removes n's folder.
func remove(n *node) error {
	if err := os.RemoveAll(n.dir); err != nil {
		return fmt.Errorf("remove the folder of %s: %w", n.id, err)
	}
	return nil
}
