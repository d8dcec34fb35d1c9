package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// promoteTakes bounds the wait for all nodes to agree on a promotion; on an idle
// machine they do within tens of milliseconds.
const promoteTakes = 30 * time.Second

// Freeze keeps the replicas of a shard from standing for election, or lets them
// again: so that nobody is promoted before the one that Promote names. It is told
// to the nodes of the shard that answer; one that is restarted has forgotten it.
// Without cluster mode there are no elections, and Freeze does nothing.
func (c *Cluster) Freeze(ctx context.Context, shard string, frozen bool) error {
	number, err := shardNumber(shard)
	if err != nil {
		return fmt.Errorf("freeze: %w", err)
	}
	if c.opts.Standalone {
		return nil
	}
	// Not the replicas alone: one may have become the primary since.
	nodes := inShard(c.members(), number)
	if err := c.tellAll(ctx, nodes, "config", "set", "cluster-replica-no-failover", yesNo(frozen)); err != nil {
		return fmt.Errorf("freeze shard %s: %w", shard, err)
	}
	return nil
}

// Promote makes node id, a replica, the primary of its shard without asking
// anybody, and returns when every node that answers says that it is. The other
// replicas copy from it then. If id is the primary already, nothing happens.
func (c *Cluster) Promote(ctx context.Context, id string) error {
	if err := c.promote(ctx, id); err != nil {
		return fmt.Errorf("promote %s: %w", id, err)
	}
	return nil
}

func (c *Cluster) promote(ctx context.Context, id string) error {
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, promoteTakes)
	defer cancel()
	n, err := c.memberNamed(id)
	if err != nil {
		return err
	}
	v, err := c.view(ctx, n)
	switch {
	case err != nil:
		return err
	case v.isPrimary():
		c.knowPrimary(n)
		return nil
	case c.opts.Standalone:
		return c.promoteStandalone(ctx, n)
	}
	return c.takeOver(ctx, n)
}

// memberNamed is the member called id, running or not.
func (c *Cluster) memberNamed(id string) (*node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.find(id)
	if err == nil && n.standing != member {
		err = errors.New("it is being changed")
	}
	return n, err
}

// takeOver promotes n in cluster mode.
func (c *Cluster) takeOver(ctx context.Context, n *node) error {
	if err := c.tell(ctx, n, "cluster", "failover", "takeover"); err != nil {
		return err
	}
	c.knowPrimary(n)
	err := pollEvery(ctx, takeoverLook, func(ctx context.Context) error {
		if err := c.exited(n); err != nil {
			return err
		}
		return c.acknowledged(ctx, n)
	})
	if err != nil {
		return err
	}
	return c.hasten(ctx)
}

const (
	// rejoinTimeout is the cluster-node-timeout with which a primary waits least
	// until it serves again: Redis waits as long as that, in 500 ms to 5 s.
	rejoinTimeout = 500 * time.Millisecond
	// rejoinTakes bounds the wait for it. What is not well by then has another
	// reason, such as slots without a primary.
	rejoinTakes = time.Second
)

// hasten lets the primaries serve half a second after a promotion. In a cluster
// of one or two shards those that are left are no majority once they have noticed
// that a primary is dead, and a primary that finds itself with the majority again
// waits for the node timeout, so as to hear first what it has missed. There is
// nothing to hear here, and on ElastiCache nobody reports such a wait.
func (c *Cluster) hasten(ctx context.Context) error {
	var waiting []*node
	for _, v := range c.look(ctx, c.members()) {
		if v.isPrimary() && v.state != "ok" {
			waiting = append(waiting, v.node)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	if err := c.setTimeout(ctx, waiting, rejoinTimeout); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, rejoinTakes)
	defer cancel()
	_ = poll(wait, func(ctx context.Context) error { return c.inOrder(ctx, waiting) })
	return c.setUsualTimeout(ctx, waiting)
}

// setUsualTimeout gives nodes the cluster-node-timeout that all should have now.
func (c *Cluster) setUsualTimeout(ctx context.Context, nodes []*node) error {
	c.timing.Lock()
	defer c.timing.Unlock()
	return c.setTimeout(ctx, nodes, c.usualTimeout())
}

// keepTime gives n, which was away and may have missed the begin or the end of a
// move, the usual timeout again. If it does not answer, it gets it with the next
// move or when it has been away again.
func (c *Cluster) keepTime(ctx context.Context, n *node) {
	if !c.opts.Standalone {
		_ = c.setUsualTimeout(context.WithoutCancel(ctx), []*node{n})
	}
}

// setTimeout sets the cluster-node-timeout of nodes.
func (c *Cluster) setTimeout(ctx context.Context, nodes []*node, d time.Duration) error {
	return c.tellAll(ctx, nodes, "config", "set", "cluster-node-timeout", d.Milliseconds())
}

// usualTimeout is the cluster-node-timeout that all nodes should have now.
func (c *Cluster) usualTimeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moving > 0 {
		return max(patientTimeout, c.opts.NodeTimeout)
	}
	return c.opts.NodeTimeout
}

// takeoverLook is how often the others are asked after a takeover, of which they
// are told at once and not when their next to-do list is worked off.
const takeoverLook = 5 * time.Millisecond

// acknowledged wants all nodes that answer to give n the slots that it says it
// has, and the nodes of its shard to copy it.
func (c *Cluster) acknowledged(ctx context.Context, n *node) error {
	views := c.look(ctx, c.members())
	mine := viewOf(views, n)
	if mine == nil {
		return fmt.Errorf("%s does not answer", n.id)
	}
	for _, v := range views {
		if r := v.rows[mine.self.id]; !r.is("master") || !slices.Equal(r.slots, mine.self.slots) {
			return fmt.Errorf("%s does not know it for the primary yet", v.node.id)
		}
		if v != mine && v.node.shard == n.shard && !v.follows(mine) {
			return fmt.Errorf("%s does not copy it yet", v.node.id)
		}
	}
	return nil
}

// promoteStandalone promotes n without cluster mode and turns the other replicas
// to it. An old primary that still runs stays what it is.
func (c *Cluster) promoteStandalone(ctx context.Context, n *node) error {
	replicas := slices.DeleteFunc(c.look(ctx, c.members()), func(v *view) bool { return v.isPrimary() || v.node == n })
	if err := c.tell(ctx, n, "replicaof", "no", "one"); err != nil {
		return err
	}
	c.knowPrimary(n)
	others := make([]*node, len(replicas))
	for i, v := range replicas {
		others[i] = v.node
	}
	return c.tellAll(ctx, others, "replicaof", n.host, n.port)
}
