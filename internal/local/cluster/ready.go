package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// checkAcquainted wants n to have a link to every other node and none of them
// in handshake; CLUSTER REPLICATE takes only a node that is known.
func (c *Cluster) checkAcquainted(ctx context.Context, n *node) error {
	table, err := n.client.ClusterNodes(ctx).Result()
	if err != nil {
		return err
	}
	return acquainted(table, len(c.nodes))
}

// acquainted checks the output of CLUSTER NODES, one line a node:
// id addr flags primary ping-sent pong-recv epoch link-state slot...
func acquainted(table string, want int) error {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) != want {
		return fmt.Errorf("it knows %d nodes of %d", len(lines), want)
	}
	for _, line := range lines {
		f := strings.Fields(line)
		if len(f) < 8 {
			return fmt.Errorf("CLUSTER NODES says %q", line)
		}
		if strings.Contains(f[2], "handshake") || strings.Contains(f[2], "fail") || strings.Contains(f[2], "noaddr") || f[7] != "connected" {
			return fmt.Errorf("it sees %s as %s, %s", f[1], f[2], f[7])
		}
	}
	return nil
}

// checkReady is what Start promises, asked of one node.
func (c *Cluster) checkReady(ctx context.Context, n *node) error {
	state, err := n.client.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	if got := field(state, "cluster_state"); got != "ok" {
		return fmt.Errorf("cluster_state is %q", got)
	}
	if err := c.checkAcquainted(ctx, n); err != nil {
		return err
	}
	if err := c.checkReplication(ctx, n); err != nil {
		return err
	}
	return c.checkSlots(ctx, n)
}

// checkSlots wants n's CLUSTER SLOTS to give every shard its share, its primary
// first, and all its replicas.
func (c *Cluster) checkSlots(ctx context.Context, n *node) error {
	table, err := n.client.ClusterSlots(ctx).Result()
	if err != nil {
		return err
	}
	covered := 0
	for _, r := range table {
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
		from, to := share(n.shard, c.opts.Shards)
		switch {
		case from != r.Start:
		case to != r.End:
			return fmt.Errorf("its slots %d-%d are not %d-%d", r.Start, r.End, from, to)
		case !listed[n.addr()]:
			return fmt.Errorf("it does not list %s", n.id)
		case n.primary && r.Nodes[0].Addr != n.addr():
			return fmt.Errorf("it has %s for the primary of slots %d-%d, not %s", r.Nodes[0].Addr, from, to, n.id)
		}
	}
	return nil
}

// checkReplication wants a replica's link up, and a primary's offset to count.
func (c *Cluster) checkReplication(ctx context.Context, n *node) error {
	info, err := n.client.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	if !n.primary {
		return linkUp(info)
	}
	if c.opts.Replicas > 0 && field(info, "master_repl_offset") == "0" {
		return errors.Join(errors.New("its replication offset is 0"), moveOffset(ctx, n.client))
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
func moveOffset(ctx context.Context, client *redis.Client) error {
	return client.Do(ctx, "wait", 1000, 1).Err()
}

// checkStandalone is what Start promises without cluster mode.
func (c *Cluster) checkStandalone(ctx context.Context, n *node) error {
	info, err := n.client.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	if !n.primary {
		return linkUp(info)
	}
	if online := strings.Count(info, "state=online"); online != c.opts.Replicas {
		return fmt.Errorf("%d of %d replicas are online", online, c.opts.Replicas)
	}
	return nil
}

// field finds "name:value" in the output of INFO or CLUSTER INFO.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
