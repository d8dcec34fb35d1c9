package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// checkReady is what Start promises, asked of one node.
func (c *Cluster) checkReady(ctx context.Context, v *view) error {
	if v.state != "ok" {
		return fmt.Errorf("cluster_state is %q", v.state)
	}
	if err := c.checkRows(v); err != nil {
		return err
	}
	if err := c.checkReplication(ctx, v); err != nil {
		return err
	}
	return c.checkSlots(v)
}

// checkRows wants v to have a link to every node, and none of them in doubt.
func (c *Cluster) checkRows(v *view) error {
	if len(v.rows) != len(c.nodes) {
		return fmt.Errorf("it knows %d nodes of %d", len(v.rows), len(c.nodes))
	}
	for _, r := range v.rows {
		if !r.connected || r.is("handshake") || r.is("fail") || r.is("fail?") || r.is("noaddr") {
			return fmt.Errorf("it sees %s as %v, connected: %v", r.id, r.flags, r.connected)
		}
	}
	return nil
}

// checkSlots wants v's CLUSTER SLOTS to give every shard its share, its primary
// first, and all its replicas.
func (c *Cluster) checkSlots(v *view) error {
	covered := 0
	for _, r := range v.table {
		covered += r.End - r.Start + 1
		if err := c.checkRange(r); err != nil {
			return err
		}
	}
	if covered != slots {
		return fmt.Errorf("it has %d of %d slots covered", covered, slots)
	}
	return nil
}

// checkRange checks one row of CLUSTER SLOTS against the layout.
func (c *Cluster) checkRange(r redis.ClusterSlot) error {
	listed := map[string]bool{}
	for _, n := range r.Nodes {
		listed[n.Addr] = true
	}
	for _, n := range c.nodes {
		want := share(n.shard, c.opts.Shards)
		switch {
		case want.First != r.Start:
		case want.Last != r.End:
			return fmt.Errorf("its slots %d-%d are not %v", r.Start, r.End, want)
		case !listed[n.addr()]:
			return fmt.Errorf("it does not list %s", n.id)
		case n.primary && r.Nodes[0].Addr != n.addr():
			return fmt.Errorf("it has %s for the primary of slots %v, not %s", r.Nodes[0].Addr, want, n.id)
		}
	}
	return nil
}

// checkReplication wants a replica's link up, and a primary's offset to count.
func (c *Cluster) checkReplication(ctx context.Context, v *view) error {
	if !v.node.primary {
		return linkUp(v.replication)
	}
	if c.opts.Replicas > 0 && field(v.replication, "master_repl_offset") == "0" {
		return errors.Join(errors.New("its replication offset is 0"), c.moveOffset(ctx, v.node))
	}
	return nil
}

func linkUp(info string) error {
	if role, link := field(info, "role"), field(info, "master_link_status"); role != "slave" || link != "up" {
		return fmt.Errorf("its role is %q, the link to its primary %q", role, link)
	}
	return nil
}

// moveOffset makes a primary send its replicas something. CLUSTER SLOTS leaves
// out replicas whose offset is 0, and an idle primary first sends a ping after
// repl-ping-replica-period. WAIT for more replicas than there can be asks them
// for their offsets, and that goes through the replication stream; it writes nothing.
func (c *Cluster) moveOffset(ctx context.Context, primary *node) error {
	return c.tell(ctx, primary, "wait", 1000, 1)
}

// inOrder wants the cluster to be in order in the eyes of nodes.
func (c *Cluster) inOrder(ctx context.Context, nodes []*node) error {
	if err := c.allRun(nodes); err != nil {
		return err
	}
	views := c.look(ctx, nodes)
	if len(views) < len(nodes) {
		return fmt.Errorf("%d of %d nodes answer", len(views), len(nodes))
	}
	i := slices.IndexFunc(views, func(v *view) bool { return v.state != "ok" })
	if i >= 0 {
		return fmt.Errorf("%s: cluster_state is %q", views[i].node.id, views[i].state)
	}
	return nil
}

// checkStandalone is what Start promises without cluster mode.
func (c *Cluster) checkStandalone(_ context.Context, v *view) error {
	if !v.node.primary {
		return linkUp(v.replication)
	}
	if online := strings.Count(v.replication, "state=online"); online != c.opts.Replicas {
		return fmt.Errorf("%d of %d replicas are online", online, c.opts.Replicas)
	}
	return nil
}
