package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// moveBatch is how many slots are opened at a time, so that empty ones cost
	// little and few are open if something goes wrong.
	moveBatch = 64
	// patientTimeout is cluster-node-timeout while slots move: source and target
	// answer nobody while they hand over a large key, and that is no failure.
	patientTimeout = 2 * time.Minute
	// agreeTakes bounds the wait for all nodes to agree in the end.
	agreeTakes = time.Minute
)

// Move migrates so many slots, those with the highest numbers, from one shard to
// another, with their keys, while clients go on: whoever follows MOVED and ASK
// loses nothing. After each batch of up to 64 slots moved (which may be nil) is
// told how many have been moved so far. Move returns when all nodes that answer
// agree. If ctx ends, the batch under way is finished first; what has been moved
// stays moved.
//
// While it runs, cluster-node-timeout is two minutes: a node hands over one key
// at a time and answers nobody meanwhile.
func (c *Cluster) Move(ctx context.Context, from, to string, slots int, moved func(n int)) error {
	if err := c.move(ctx, from, to, slots, moved); err != nil {
		return fmt.Errorf("move %d slots from shard %s to %s: %w", slots, from, to, err)
	}
	return nil
}

func (c *Cluster) move(ctx context.Context, from, to string, slots int, moved func(n int)) (err error) {
	ctx, end, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	m, err := c.newMigration(ctx, from, to)
	if err != nil {
		return err
	}
	defer m.close()
	chosen, err := highest(m.sourceSlots, slots)
	if err != nil {
		return err
	}
	impatient, err := c.bePatient(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, impatient()) }()
	done := 0
	for batch := range slices.Chunk(chosen, moveBatch) {
		if ctx.Err() != nil {
			return fmt.Errorf("%w after %d of them", context.Cause(ctx), done)
		}
		if err := m.batch(ctx, batch); err != nil {
			return fmt.Errorf("after %d of them: %w", done, err)
		}
		done += len(batch)
		if moved != nil {
			moved(done)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, agreeTakes)
	defer cancel()
	return poll(ctx, func(ctx context.Context) error { return c.agreed(ctx, m) })
}

// highest lists the n highest slots of ranges, in ascending order.
func highest(ranges []Range, n int) ([]int, error) {
	var all []int
	for _, r := range ranges {
		for slot := r.First; slot <= r.Last; slot++ {
			all = append(all, slot)
		}
	}
	if n < 0 || n > len(all) {
		return nil, fmt.Errorf("it has %d", len(all))
	}
	slices.Sort(all)
	return all[len(all)-n:], nil
}

// bePatient gives all nodes a long cluster-node-timeout until what it returns is
// called. Those that do not answer then, or join meanwhile, are told when they do
// (keepTime).
func (c *Cluster) bePatient(ctx context.Context) (impatient func() error, err error) {
	impatient = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTakes)
		defer cancel()
		c.countMoves(-1)
		return c.setUsualTimeout(ctx, c.reachable(ctx))
	}
	c.countMoves(1)
	if err := c.setUsualTimeout(ctx, c.reachable(ctx)); err != nil {
		return nil, errors.Join(err, impatient())
	}
	return impatient, nil
}

func (c *Cluster) countMoves(by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moving += by
}

// agreed wants all nodes that answer to have the same owner for every slot of the
// two shards, to find the cluster in order, and to list the target's replicas.
func (c *Cluster) agreed(ctx context.Context, m *migration) error {
	views := c.look(ctx, c.members())
	source, target := viewOf(views, m.source.node), viewOf(views, m.target.node)
	if source == nil || target == nil {
		return errors.Join(c.exited(m.source.node), c.exited(m.target.node), errors.New("source or target does not answer"))
	}
	for _, v := range views {
		if v.state != "ok" {
			return fmt.Errorf("%s: cluster_state is %q", v.node.id, v.state)
		}
		for _, owner := range []*view{source, target} {
			if !slices.Equal(v.rows[owner.self.id].slots, owner.self.slots) {
				return fmt.Errorf("%s does not know yet which slots %s has", v.node.id, owner.node.id)
			}
		}
		if err := v.listsAll(viewsIn(views, target.node.shard)); err != nil {
			return fmt.Errorf("%s: %w", v.node.id, err)
		}
	}
	return nil
}

// listsAll is lists of all replicas among others.
func (v *view) listsAll(others []*view) error {
	for _, other := range others {
		if other.isPrimary() {
			continue
		}
		if err := v.lists(other); err != nil {
			return err
		}
	}
	return nil
}
