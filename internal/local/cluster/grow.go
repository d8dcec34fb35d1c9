package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// NextID is the name that the next node of a shard would get: the one with the
// smallest number that is free, so that a name is used again after its node was
// removed, as ElastiCache does. It is "" for what is no name of a shard.
func (c *Cluster) NextID(shard string) string {
	number, err := shardNumber(shard)
	if err != nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var taken []int
	for _, n := range inShard(c.nodes, number) {
		taken = append(taken, idNumber(n.id))
	}
	return nodeID(c.opts, number, lowest(taken))
}

// idNumber is the last part of a name that nodeID has written.
func idNumber(id string) int {
	number, _ := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	return number
}

// lowest is the smallest number from 1 that is not in numbers.
func lowest(numbers []int) int {
	for n := 1; ; n++ {
		if !slices.Contains(numbers, n) {
			return n
		}
	}
}

// AddReplica adds node id, which NextID has named, to its shard and returns when
// it is a replica of the present primary, has copied it, and all nodes list it.
// If that fails, the node is gone again.
func (c *Cluster) AddReplica(ctx context.Context, id string) error {
	if err := c.addReplica(ctx, id); err != nil {
		return fmt.Errorf("add replica %s: %w", id, err)
	}
	return nil
}

func (c *Cluster) addReplica(ctx context.Context, id string) error {
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, joinTakes)
	defer cancel()
	n, err := c.named(id)
	if err != nil {
		return err
	}
	primary, err := c.primaryNow(ctx, n.shard)
	if err != nil {
		return err
	}
	if err := c.enter(n); err != nil {
		return err
	}
	if err := c.startMembers(ctx, []*node{n}, func(ctx context.Context) error { return c.follow(ctx, primary, n) }); err != nil {
		return c.undoAdding(ctx, err, n)
	}
	return nil
}

// named makes a node of a name that NextID gives.
func (c *Cluster) named(id string) (*node, error) {
	for _, shard := range shardsOf(c.members()) {
		if c.NextID(shardID(shard)) == id {
			return newNode(c.opts, c.dir, shard, idNumber(id)), nil
		}
	}
	return nil, errors.New("that is not the next name of any shard")
}

// startMembers starts nodes, lets join do what makes them part of the cluster,
// and takes them for members from then on.
func (c *Cluster) startMembers(ctx context.Context, nodes []*node, join func(context.Context) error) error {
	if err := c.run(ctx, nodes); err != nil {
		return err
	}
	if err := join(ctx); err != nil {
		return err
	}
	if err := c.settle(nodes...); err != nil {
		return err
	}
	for _, n := range nodes {
		c.stand(n, member)
		c.keepTime(ctx, n)
	}
	return nil
}

// undoAdding removes nodes that could not be added because of cause.
func (c *Cluster) undoAdding(ctx context.Context, cause error, nodes ...*node) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTakes)
	defer cancel()
	return errors.Join(cause, c.takeAway(ctx, nodes...))
}

// AddShard adds a shard without slots: a primary and so many replicas of it,
// which are named as at the start. It returns their names when all nodes know
// each other and the links are up; Move then gives it slots. If that fails, the
// nodes are gone again.
func (c *Cluster) AddShard(ctx context.Context, shard string, replicas int) ([]string, error) {
	ids, err := c.addShard(ctx, shard, replicas)
	if err != nil {
		return nil, fmt.Errorf("add shard %s: %w", shard, err)
	}
	return ids, nil
}

func (c *Cluster) addShard(ctx context.Context, shard string, replicas int) ([]string, error) {
	number, err := shardNumber(shard)
	switch {
	case err != nil:
		return nil, err
	case c.opts.Standalone:
		return nil, errors.New("there is only one without cluster mode")
	case replicas < 0:
		return nil, fmt.Errorf("replicas: %d is negative", replicas)
	}
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, joinTakes)
	defer cancel()
	var nodes []*node
	for i := range 1 + replicas {
		nodes = append(nodes, newNode(c.opts, c.dir, number, i+1))
	}
	nodes[0].primary = true
	if err := c.enter(nodes...); err != nil {
		return nil, err
	}
	if err := c.startMembers(ctx, nodes, func(ctx context.Context) error { return c.joinShard(ctx, nodes) }); err != nil {
		return nil, c.undoAdding(ctx, err, nodes...)
	}
	return names(nodes), nil
}

func names(nodes []*node) []string {
	ids := make([]string, len(nodes))
	for i, n := range nodes {
		ids[i] = n.id
	}
	return ids
}

// joinShard makes a shard without slots of nodes, the first of which is to be
// its primary.
func (c *Cluster) joinShard(ctx context.Context, nodes []*node) error {
	if err := c.identify(ctx, nodes); err != nil {
		return err
	}
	others := c.reachable(ctx)
	if err := c.raiseEpochs(ctx, nodes, others); err != nil {
		return err
	}
	if err := c.acquaint(ctx, nodes, union(nodes, others)); err != nil {
		return err
	}
	for _, n := range nodes[1:] {
		if err := c.attach(ctx, n, nodes[0]); err != nil {
			return err
		}
	}
	// A primary takes two seconds until it believes that the cluster is well.
	return poll(ctx, func(ctx context.Context) error { return c.inOrder(ctx, nodes) })
}

// raiseEpochs gives each newcomer an epoch of its own, above all there are.
func (c *Cluster) raiseEpochs(ctx context.Context, newcomers, others []*node) error {
	var top uint64
	for _, v := range c.look(ctx, others) {
		for _, r := range v.rows {
			top = max(top, r.epoch)
		}
	}
	for i, n := range newcomers {
		if err := c.tell(ctx, n, "cluster", "set-config-epoch", top+uint64(i)+1); err != nil {
			return err
		}
	}
	return nil
}
