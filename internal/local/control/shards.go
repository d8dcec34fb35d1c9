package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// ModifyShards is ModifyReplicationGroupShardConfiguration: it adds shards,
// removes shards, or spreads the slots evenly again.
func (p *Plane) ModifyShards(ctx context.Context, c ShardChange) (ReplicationGroup, error) {
	if err := p.lookFirst(ctx, c.GroupID); err != nil {
		return ReplicationGroup{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g, err := p.idle(c.GroupID)
	if err != nil {
		return ReplicationGroup{}, err
	}
	work, err := p.planShards(g, c)
	if err != nil {
		return ReplicationGroup{}, err
	}
	p.begin(g, "a change of the shard configuration", work)
	none := 0.0
	g.status, g.moved = Modifying, &none
	return p.describe(g), nil
}

// planShards checks c and returns what is to be done. The caller holds mu.
func (p *Plane) planShards(g *group, c ShardChange) (func(context.Context) error, error) {
	if err := g.checkShardChange(c); err != nil {
		return nil, err
	}
	called, has := time.Now(), len(g.shards)
	switch {
	case c.NodeGroupCount > has:
		added := p.planAdded(g, c.NodeGroupCount-has)
		return func(ctx context.Context) error { return p.addShards(ctx, g, added, called) }, nil
	case c.NodeGroupCount < has:
		removed, err := g.planRemoved(c)
		return func(ctx context.Context) error { return p.removeShards(ctx, g, removed) }, err
	}
	if len(g.moves(nil)) == 0 {
		return nil, refuse(CodeGroupState, "Slots in the replication group are uniformly distributed. Nothing to do")
	}
	return func(ctx context.Context) error { return p.moveSlots(ctx, g, nil) }, nil
}

func (g *group) checkShardChange(c ShardChange) error {
	named := len(c.Remove) + len(c.Retain)
	switch has := len(g.shards); {
	case !g.clusterEnabled:
		return refuse(CodeParameterValue, "Replication group %s has cluster mode disabled: it has one shard.", g.id)
	case !c.ApplyImmediately:
		return refuse(CodeParameterValue, "ApplyImmediately=false is currently not supported.")
	case c.NodeGroupCount < 1:
		return refuse(CodeParameterValue, "The number of node groups must be at least 1, not %d.", c.NodeGroupCount)
	case c.NodeGroupCount > maxNodeGroups:
		return refuse(CodeNodeGroupsQuota, "The request cannot be processed because it would exceed the maximum of %d node groups in a replication group.", maxNodeGroups)
	case c.NodeGroupCount >= has && named > 0:
		return refuse(CodeParameterMix, "NodeGroupsToRemove and NodeGroupsToRetain go with fewer node groups than there are.")
	case c.NodeGroupCount < has && (len(c.Remove) > 0) == (len(c.Retain) > 0):
		return refuse(CodeParameterMix, "To remove node groups, exactly one of NodeGroupsToRemove and NodeGroupsToRetain is wanted.")
	}
	return nil
}

// planAdded enters the new shards with as many members as the smallest present
// shard has. The caller holds mu.
func (p *Plane) planAdded(g *group, n int) []*shard {
	size := len(g.shards[0].members)
	for _, s := range g.shards {
		size = min(size, len(s.members))
	}
	var added []*shard
	for number := 1; len(added) < n; number++ {
		id := fmt.Sprintf("%04d", number)
		if g.shard(id) != nil {
			continue
		}
		s := &shard{id: id, status: Creating}
		for i := range size {
			p.expect(s, fmt.Sprintf("%s-%s-%03d", g.id, id, i+1))
		}
		g.shards = append(g.shards, s)
		added = append(added, s)
	}
	slices.SortFunc(g.shards, func(a, b *shard) int { return cmp.Compare(a.id, b.id) })
	return added
}

// planRemoved finds the shards to remove. The caller holds mu.
func (g *group) planRemoved(c ShardChange) ([]*shard, error) {
	for _, id := range slices.Concat(c.Remove, c.Retain) {
		if g.shard(id) == nil {
			return nil, refuse(CodeParameterValue, "Node group %s not found in replication group %s.", id, g.id)
		}
	}
	var removed []*shard
	for _, s := range g.shards {
		if slices.Contains(c.Remove, s.id) || len(c.Retain) > 0 && !slices.Contains(c.Retain, s.id) {
			removed = append(removed, s)
		}
	}
	if left := len(g.shards) - len(removed); left != c.NodeGroupCount {
		return nil, refuse(CodeParameterMix, "NodeGroupCount is %d, but %d node groups would be left.", c.NodeGroupCount, left)
	}
	return removed, nil
}

func (p *Plane) addShards(ctx context.Context, g *group, added []*shard, called time.Time) error {
	if err := until(ctx, called.Add(g.timings.Shard)); err != nil {
		return err
	}
	for _, s := range added {
		if err := p.addShard(ctx, g, s); err != nil {
			return err
		}
	}
	return p.moveSlots(ctx, g, nil)
}

func (p *Plane) addShard(ctx context.Context, g *group, s *shard) error {
	if _, err := g.cluster.AddShard(ctx, s.id, len(s.members)-1); err != nil {
		return err
	}
	p.mu.Lock()
	s.status, s.primary = Modifying, s.members[0].id
	p.mu.Unlock()
	for _, m := range s.members {
		p.rejoin(g, m)
		p.mu.Lock()
		m.status = Available
		p.logCreated(m)
		p.mu.Unlock()
	}
	return nil
}

func (p *Plane) removeShards(ctx context.Context, g *group, removed []*shard) error {
	p.mu.Lock()
	for _, s := range removed {
		s.status = Modifying
	}
	p.mu.Unlock()
	if err := p.moveSlots(ctx, g, removed); err != nil {
		return err
	}
	for _, s := range removed {
		if err := p.removeShard(ctx, g, s); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plane) removeShard(ctx context.Context, g *group, s *shard) error {
	p.mu.Lock()
	s.status = Deleting
	for _, m := range s.members {
		m.status = Deleting
	}
	p.mu.Unlock()
	if err := g.cluster.RemoveShard(ctx, s.id, drainIdle, g.timings.Drain); err != nil {
		return err
	}
	p.mu.Lock()
	g.shards = slices.DeleteFunc(g.shards, func(other *shard) bool { return other == s })
	p.mu.Unlock()
	p.opts.Changed()
	return nil
}

// moveSlots spreads the slots evenly over all shards but those without, which
// are left with none.
func (p *Plane) moveSlots(ctx context.Context, g *group, without []*shard) error {
	if err := p.refresh(ctx, g); err != nil {
		return err
	}
	p.mu.Lock()
	moves := g.moves(without)
	p.mu.Unlock()
	total, done := 0, 0
	for _, m := range moves {
		total += m.slots
	}
	for _, m := range moves {
		progress := func(n int) { p.progress(g, done+n, total) }
		if err := g.cluster.Move(ctx, m.from, m.to, m.slots, progress); err != nil {
			return err
		}
		done += m.slots
		if err := p.refresh(ctx, g); err != nil {
			return err
		}
		p.logf(SourceGroup, g.id, "Moved a total of %d slots out of %d slots from shard %s to shard %s", m.slots, m.slots, m.from, m.to)
	}
	return nil
}

func (p *Plane) progress(g *group, done, total int) {
	percent := 100 * float64(done) / float64(total)
	p.mu.Lock()
	defer p.mu.Unlock()
	g.moved = &percent
}

// moves plans how the slots are spread evenly. The caller holds mu.
func (g *group) moves(without []*shard) []move {
	var from, to []load
	for _, s := range g.shards {
		l := load{shard: s.id, slots: countSlots(s.slots)}
		if slices.Contains(without, s) {
			from = append(from, l)
		} else {
			to = append(to, l)
		}
	}
	return spread(to, from)
}
