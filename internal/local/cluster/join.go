package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// meetAgain is when an introduction that came to nothing is made again. Redis
// gives up a handshake after cluster-node-timeout, at least a second.
const meetAgain = 3 * time.Second

// acquaint lets newcomers and others know each other. Meeting one node would do,
// the rest goes round by gossip, but that takes seconds.
func (c *Cluster) acquaint(ctx context.Context, newcomers, others []*node) error {
	for {
		if err := c.introduce(ctx, newcomers, others); err != nil {
			return err
		}
		attempt, cancel := context.WithTimeout(ctx, meetAgain)
		err := poll(attempt, func(ctx context.Context) error { return c.acquainted(ctx, newcomers, others) })
		cancel()
		var exit *exitError
		if err == nil || ctx.Err() != nil || errors.As(err, &exit) {
			return err
		}
	}
}

// introduce lets every newcomer meet all others, once for each pair.
func (c *Cluster) introduce(ctx context.Context, newcomers, others []*node) error {
	met := map[[2]*node]bool{}
	for _, n := range newcomers {
		for _, other := range others {
			if n == other || met[[2]*node{other, n}] {
				continue
			}
			met[[2]*node{n, other}] = true
			if err := c.tell(ctx, n, meet(other)...); err != nil {
				return fmt.Errorf("introduce %s to %s: %w", n.id, other.id, err)
			}
		}
	}
	return nil
}

// acquainted wants all newcomers, and those of the others that answer, to have
// a link to each other; CLUSTER REPLICATE takes only a node that is known.
func (c *Cluster) acquainted(ctx context.Context, newcomers, others []*node) error {
	if err := c.allRun(newcomers); err != nil {
		return err
	}
	views := c.look(ctx, union(newcomers, others))
	for _, n := range newcomers {
		mine := viewOf(views, n)
		if mine == nil {
			return fmt.Errorf("%s does not answer", n.id)
		}
		for _, v := range views {
			if !v.knows(mine) || !mine.knows(v) {
				return fmt.Errorf("%s and %s do not know each other yet", n.id, v.node.id)
			}
		}
	}
	return nil
}

// knows tells whether v has a link to the node of other.
func (v *view) knows(other *view) bool {
	r, found := v.rows[other.self.id]
	return found && r.connected && !r.is("handshake") && !r.is("noaddr")
}

// allRun is the error of the first of nodes whose process has ended.
func (c *Cluster) allRun(nodes []*node) error {
	for _, n := range nodes {
		if err := c.exited(n); err != nil {
			return err
		}
	}
	return nil
}

// union is both lists, without those of b that are in a.
func union(a, b []*node) []*node {
	all := append([]*node(nil), a...)
	in := map[*node]bool{}
	for _, n := range a {
		in[n] = true
	}
	for _, n := range b {
		if !in[n] {
			all = append(all, n)
		}
	}
	return all
}

// attach makes n, which is acquainted with everybody, a replica of primary and
// waits until it is a good one in the eyes of all.
func (c *Cluster) attach(ctx context.Context, n, primary *node) error {
	id := c.idOf(primary)
	err := poll(ctx, func(ctx context.Context) error {
		return errors.Join(c.exited(n), c.tell(ctx, n, "cluster", "replicate", id))
	})
	if err != nil {
		return err
	}
	return poll(ctx, func(ctx context.Context) error { return c.attached(ctx, n, primary) })
}

// attached wants n's link to be up, and every node that answers to send clients
// to it.
func (c *Cluster) attached(ctx context.Context, n, primary *node) error {
	if err := c.exited(n); err != nil {
		return err
	}
	views := c.look(ctx, union([]*node{n}, c.members()))
	mine := viewOf(views, n)
	if mine == nil {
		return fmt.Errorf("%s does not answer", n.id)
	}
	if err := linkUp(mine.replication); err != nil {
		return fmt.Errorf("%s: %w", n.id, err)
	}
	if mine.offset() == 0 {
		return errors.Join(errors.New("its replication offset is 0"), c.moveOffset(ctx, primary))
	}
	for _, v := range views {
		if err := v.lists(mine); err != nil {
			return fmt.Errorf("%s: %w", v.node.id, err)
		}
	}
	return nil
}

// lists wants v to show the replica of other in CLUSTER SLOTS, and if its
// primary has no slots in CLUSTER NODES.
func (v *view) lists(other *view) error {
	r := v.rows[other.self.id]
	if !r.is("slave") || r.primary != other.self.primary {
		return fmt.Errorf("it does not know %s as a replica yet", other.node.id)
	}
	if len(v.rows[r.primary].slots) == 0 {
		return nil
	}
	for _, slots := range v.table {
		for _, node := range slots.Nodes[1:] {
			if node.Addr == other.node.addr() {
				return nil
			}
		}
	}
	return fmt.Errorf("it does not list %s yet", other.node.id)
}

// idOf is n's cluster id.
func (c *Cluster) idOf(n *node) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return n.clusterID
}
