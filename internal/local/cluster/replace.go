package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// joinTakes bounds a change that brings a node in, if its context does not. What
// takes its time is the copy of the data set: about 100 MB/s.
const joinTakes = 10 * time.Minute

// Replace puts an empty process in the place of the one of node id, which is dead
// or hung (or else is killed), under the same name and address. It returns when
// the new one is a replica of its shard's present primary, has copied it, and all
// nodes list it. A shard without a primary that answers is an error: Promote a
// replica first, or Restart the node where there is none. If Replace fails, the
// node is dead and may be replaced again.
func (c *Cluster) Replace(ctx context.Context, id string) error {
	if err := c.replace(ctx, id); err != nil {
		return fmt.Errorf("replace %s: %w", id, err)
	}
	return nil
}

func (c *Cluster) replace(ctx context.Context, id string) error {
	ctx, n, end, err := c.beginWith(ctx, id, absent)
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, joinTakes)
	defer cancel()
	primary, err := c.primaryNow(ctx, n.shard)
	if err != nil {
		return err
	}
	c.end(n, syscall.SIGKILL)
	if err := wipe(n.dir); err != nil {
		return err
	}
	if err := c.forget(ctx, n); err != nil {
		return err
	}
	if err := c.startEmpty(ctx, n, primary); err != nil {
		c.end(n, syscall.SIGKILL)
		return err
	}
	return nil
}

// startEmpty starts n at the address it has and makes it a replica.
func (c *Cluster) startEmpty(ctx context.Context, n, primary *node) error {
	if err := c.runHere(n); err != nil {
		return err
	}
	if err := c.answers(ctx, n); err != nil {
		return err
	}
	if err := c.follow(ctx, primary, n); err != nil {
		return err
	}
	return c.settle(n)
}

// follow makes replicas of primary of nodes that have just been started.
func (c *Cluster) follow(ctx context.Context, primary *node, nodes ...*node) error {
	if c.opts.Standalone { // it says so in their configuration
		return c.linkedAll(ctx, nodes)
	}
	if err := c.identify(ctx, nodes); err != nil {
		return err
	}
	if err := c.acquaint(ctx, nodes, union(nodes, c.reachable(ctx))); err != nil {
		return err
	}
	for _, n := range nodes {
		if err := c.attach(ctx, n, primary); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) linkedAll(ctx context.Context, nodes []*node) error {
	return poll(ctx, func(ctx context.Context) error {
		for _, n := range nodes {
			if err := c.linked(ctx, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// reachable are the members that answer now.
func (c *Cluster) reachable(ctx context.Context) []*node {
	var nodes []*node
	for _, v := range c.look(ctx, c.members()) {
		nodes = append(nodes, v.node)
	}
	return nodes
}

// primaryNow is the primary of a shard that answers now.
func (c *Cluster) primaryNow(ctx context.Context, shard int) (*node, error) {
	v := c.primaryView(c.look(ctx, inShard(c.members(), shard)), shard)
	if v == nil {
		return nil, fmt.Errorf("shard %s has no other node that is its primary", shardID(shard))
	}
	c.knowPrimary(v.node)
	return v.node, nil
}

// wipe removes what a node has written but what it has said.
func wipe(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == logFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}
