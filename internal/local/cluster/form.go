package cluster

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// form makes one cluster of the running nodes and waits until it is ready.
func (c *Cluster) form(ctx context.Context) error {
	if c.opts.Standalone {
		return c.wait(ctx, c.checkStandalone)
	}
	if err := c.identify(ctx, c.nodes); err != nil {
		return err
	}
	if err := c.assignSlots(ctx); err != nil {
		return err
	}
	if err := c.acquaint(ctx, c.nodes, c.nodes); err != nil {
		return err
	}
	if err := c.attachReplicas(ctx); err != nil {
		return err
	}
	return c.wait(ctx, c.checkReady)
}

// identify asks nodes for their cluster ids.
func (c *Cluster) identify(ctx context.Context, nodes []*node) error {
	for _, n := range nodes {
		var id string
		err := c.ask(ctx, n, func(ctx context.Context, client *redis.Client) (err error) {
			id, err = client.Do(ctx, "cluster", "myid").Text()
			return err
		})
		if err != nil {
			return fmt.Errorf("ask %s for its id: %w", n.id, err)
		}
		c.mu.Lock()
		n.clusterID = id
		c.mu.Unlock()
	}
	return nil
}

// assignSlots gives every primary its share and every node an epoch of its own:
// with equal epochs the nodes would first have to settle who owns what.
func (c *Cluster) assignSlots(ctx context.Context) error {
	for i, n := range c.nodes {
		if err := c.tell(ctx, n, "cluster", "set-config-epoch", i+1); err != nil {
			return err
		}
		if !n.primary {
			continue
		}
		if err := c.tell(ctx, n, c.addSlots(share(n.shard, c.opts.Shards))...); err != nil {
			return err
		}
	}
	return nil
}

// share is the range of slots of one shard of several.
func share(shard, shards int) Range {
	return Range{shard * slots / shards, (shard+1)*slots/shards - 1}
}

// addSlots is the command that gives a node slots. Before 7.0 there are no ranges.
func (c *Cluster) addSlots(r Range) []any {
	if c.server.atLeast(7, 0) {
		return []any{"cluster", "addslotsrange", r.First, r.Last}
	}
	command := []any{"cluster", "addslots"}
	for slot := r.First; slot <= r.Last; slot++ {
		command = append(command, slot)
	}
	return command
}

// meet is the command that introduces other to a node.
func meet(other *node) []any {
	return []any{"cluster", "meet", other.host, strconv.Itoa(other.port)}
}

// attachReplicas makes all but the first node of each shard its replicas.
func (c *Cluster) attachReplicas(ctx context.Context) error {
	for _, n := range c.nodes {
		if n.primary {
			continue
		}
		if err := c.tell(ctx, n, "cluster", "replicate", c.knownPrimary(n.shard).clusterID); err != nil {
			return err
		}
	}
	return nil
}

// wait looks again and again until check is content with every node as it was
// laid out, and ends at once when a node's process does.
func (c *Cluster) wait(ctx context.Context, check func(context.Context, *view) error) error {
	return poll(ctx, func(ctx context.Context) error {
		for _, n := range c.nodes {
			if err := c.exited(n); err != nil {
				return err
			}
		}
		views := c.look(ctx, c.nodes)
		for _, n := range c.nodes {
			v := viewOf(views, n)
			if v == nil {
				return fmt.Errorf("%s does not answer", n.id)
			}
			if err := check(ctx, v); err != nil {
				return fmt.Errorf("%s is not ready: %w", n.id, err)
			}
		}
		return nil
	})
}
