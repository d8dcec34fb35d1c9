package control

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// drainIdle is how long a node that is out of the topology must have served
// nobody until it counts as drained.
const drainIdle = time.Second

// plan is what becomes of one shard's replicas.
type plan struct {
	shard  *shard
	add    []*member
	remove []*member
}

// IncreaseReplicaCount adds replicas to the node groups that c names, or to all.
func (p *Plane) IncreaseReplicaCount(ctx context.Context, c ReplicaChange) (ReplicationGroup, error) {
	if err := p.lookFirst(ctx, c.GroupID); err != nil {
		return ReplicationGroup{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g, err := p.idle(c.GroupID)
	if err != nil {
		return ReplicationGroup{}, err
	}
	if len(c.Remove) > 0 {
		return ReplicationGroup{}, refuse(CodeParameterMix, "ReplicasToRemove does not go with IncreaseReplicaCount.")
	}
	targets, err := g.targets(c)
	if err != nil {
		return ReplicationGroup{}, err
	}
	if err := checkIncrease(targets); err != nil {
		return ReplicationGroup{}, err
	}
	called := time.Now()
	p.log(SourceGroup, g.id, "Increase replica count started for replication group %s on %s", g.id, stamp(called))
	plans := p.planIncrease(g, targets)
	p.begin(g, "an increase of the replica count", func(ctx context.Context) error { return p.increase(ctx, g, plans, called) })
	p.modifying(g, plans)
	return p.describe(g), nil
}

// target is the number of replicas that a shard shall have.
type target struct {
	shard *shard
	count int
	zones []string
}

// targets reads NewReplicaCount or ReplicaConfiguration, of which exactly one
// must be there. The caller holds mu.
func (g *group) targets(c ReplicaChange) ([]target, error) {
	switch {
	case !c.ApplyImmediately:
		return nil, refuse(CodeParameterValue, "ApplyImmediately=false is currently not supported.")
	case (c.NewReplicaCount != nil) == (len(c.Shards) > 0):
		return nil, refuse(CodeParameterMix, "Exactly one of NewReplicaCount and ReplicaConfiguration is wanted.")
	case c.NewReplicaCount != nil:
		return g.targetsOfAll(*c.NewReplicaCount)
	}
	var all []target
	for _, want := range c.Shards {
		s := g.shard(want.NodeGroupID)
		if s == nil {
			return nil, refuse(CodeParameterValue, "Node group %s not found in replication group %s.", want.NodeGroupID, g.id)
		}
		if slices.ContainsFunc(all, func(t target) bool { return t.shard == s }) {
			return nil, refuse(CodeParameterMix, "Node group %s is named twice.", s.id)
		}
		if err := checkCount(want.NewReplicaCount); err != nil {
			return nil, err
		}
		if n := len(want.Zones); n > 0 && n != want.NewReplicaCount+1 {
			return nil, refuse(CodeParameterMix, "PreferredAvailabilityZones names %d zones; with the primary's %d are wanted.", n, want.NewReplicaCount+1)
		}
		all = append(all, target{shard: s, count: want.NewReplicaCount, zones: want.Zones})
	}
	return all, nil
}

func (g *group) targetsOfAll(count int) ([]target, error) {
	if err := checkCount(count); err != nil {
		return nil, err
	}
	var all []target
	for _, s := range g.shards {
		all = append(all, target{shard: s, count: count})
	}
	return all, nil
}

func checkCount(n int) error {
	if n < 0 || n > maxReplicas {
		return refuse(CodeParameterValue, "The number of replicas in a node group must be in 0 to %d, not %d.", maxReplicas, n)
	}
	return nil
}

// checkIncrease wants no shard to shrink and at least one to grow.
func checkIncrease(targets []target) error {
	grows := false
	for _, t := range targets {
		has := len(t.shard.replicas())
		if t.count < has {
			return refuse(CodeParameterValue, "Node group %s has %d replicas already, which is more than %d.", t.shard.id, has, t.count)
		}
		grows = grows || t.count > has
	}
	return checkChanges(grows)
}

func checkChanges(any bool) error {
	if !any {
		return refuse(CodeNoOperation, "The operation was not performed because no changes were required.")
	}
	return nil
}

// planIncrease names the new members. The caller holds mu.
func (p *Plane) planIncrease(g *group, targets []target) []plan {
	var plans []plan
	for _, t := range targets {
		pl := plan{shard: t.shard}
		for len(t.shard.replicas())+len(pl.add) < t.count {
			m := p.expect(t.shard, g.freeID(t.shard))
			if n := len(t.shard.members) - 1; n < len(t.zones) {
				m.zone = t.zones[n]
			}
			pl.add = append(pl.add, m)
		}
		if len(pl.add) > 0 {
			plans = append(plans, pl)
		}
	}
	return plans
}

// modifying shows that the group changes. The caller holds mu.
func (p *Plane) modifying(g *group, plans []plan) {
	g.status = Modifying
	for _, pl := range plans {
		pl.shard.status = Modifying
	}
}

func (p *Plane) increase(ctx context.Context, g *group, plans []plan, called time.Time) error {
	if err := until(ctx, called.Add(g.timings.Replica)); err != nil {
		return err
	}
	for _, pl := range plans {
		for _, m := range pl.add {
			if err := p.addReplica(ctx, g, m); err != nil {
				p.logf(SourceGroup, g.id, "Increase replica count failed for replication group %s on %s", g.id, stamp(time.Now()))
				return err
			}
		}
	}
	if err := until(ctx, time.Now().Add(g.timings.ReplicaSettled)); err != nil {
		return err
	}
	p.logf(SourceGroup, g.id, "Increase replica count completed for replication group %s on %s", g.id, stamp(time.Now()))
	return nil
}

func (p *Plane) addReplica(ctx context.Context, g *group, m *member) error {
	if err := g.cluster.AddReplica(ctx, m.id); err != nil {
		return err
	}
	p.rejoin(g, m)
	p.mu.Lock()
	defer p.mu.Unlock()
	m.status = Available
	p.logCreated(m)
	return nil
}

func (s *shard) drop(m *member) {
	s.members = slices.DeleteFunc(s.members, func(other *member) bool { return other == m })
}

// DecreaseReplicaCount removes replicas: those that c names, or as many as it
// takes. Who names a primary is refused with an event, not with an error.
func (p *Plane) DecreaseReplicaCount(ctx context.Context, c ReplicaChange) (ReplicationGroup, error) {
	if err := p.lookFirst(ctx, c.GroupID); err != nil {
		return ReplicationGroup{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g, err := p.idle(c.GroupID)
	if err != nil {
		return ReplicationGroup{}, err
	}
	plans, primaries, err := g.planDecrease(c)
	switch {
	case err != nil:
		return ReplicationGroup{}, err
	case len(primaries) > 0:
		p.log(SourceGroup, g.id, "Decrease Replica count operation failed because the request included deletion of one or more masters: %s for replication group %s",
			strings.Join(primaries, ", "), g.id)
		return p.describe(g), nil
	}
	called := time.Now()
	p.log(SourceGroup, g.id, "Decrease Replica count request approved and started for replication group %s on %s.", g.id, stamp(called))
	p.begin(g, "a decrease of the replica count", func(ctx context.Context) error { return p.decrease(ctx, g, plans, called) })
	p.modifying(g, plans)
	for _, pl := range plans {
		for _, m := range pl.remove {
			m.status = Deleting
		}
	}
	p.point(g)
	return p.describe(g), nil
}

// planDecrease finds the replicas to remove, and the primaries that were named
// among them. The caller holds mu.
func (g *group) planDecrease(c ReplicaChange) (plans []plan, primaries []string, err error) {
	if len(c.Remove) > 0 {
		plans, primaries, err = g.planNamed(c)
	} else {
		plans, err = g.planCounts(c)
	}
	if err == nil && len(primaries) == 0 {
		err = g.checkLeft(plans)
	}
	return plans, primaries, err
}

func (g *group) planNamed(c ReplicaChange) (plans []plan, primaries []string, err error) {
	switch {
	case !c.ApplyImmediately:
		return nil, nil, refuse(CodeParameterValue, "ApplyImmediately=false is currently not supported.")
	case c.NewReplicaCount != nil || len(c.Shards) > 0:
		return nil, nil, refuse(CodeParameterMix, "Exactly one of NewReplicaCount, ReplicaConfiguration and ReplicasToRemove is wanted.")
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(c.Remove))) {
		s, m := g.member(id)
		switch {
		case m == nil:
			return nil, nil, refuse(CodeParameterValue, "Cache cluster %s is not in replication group %s.", id, g.id)
		case s.primary == id:
			primaries = append(primaries, id)
		default:
			plans = append(plans, plan{shard: s, remove: []*member{m}})
		}
	}
	return plans, primaries, nil
}

// planCounts takes the replicas with the highest numbers.
func (g *group) planCounts(c ReplicaChange) ([]plan, error) {
	targets, err := g.targets(c)
	if err != nil {
		return nil, err
	}
	var plans []plan
	for _, t := range targets {
		has := t.shard.replicas()
		if t.count > len(has) {
			return nil, refuse(CodeParameterValue, "Node group %s has %d replicas, which is fewer than %d.", t.shard.id, len(has), t.count)
		}
		if t.count < len(has) {
			plans = append(plans, plan{shard: t.shard, remove: has[t.count:]})
		}
	}
	return plans, checkChanges(len(plans) > 0)
}

// checkLeft wants a replica to be left where cluster mode is disabled and
// automatic failover on.
func (g *group) checkLeft(plans []plan) error {
	if g.clusterEnabled || !g.autoFailover() {
		return nil
	}
	removed := 0
	for _, pl := range plans {
		removed += len(pl.remove)
	}
	if len(g.shards[0].replicas()) <= removed {
		return refuse(CodeParameterValue, "Must have at least 1 replica when cluster mode is disabled with auto failover enabled.")
	}
	return nil
}

func (p *Plane) decrease(ctx context.Context, g *group, plans []plan, called time.Time) error {
	for _, pl := range plans {
		for _, m := range pl.remove {
			if err := p.removeReplica(ctx, g, pl.shard, m); err != nil {
				p.logf(SourceGroup, g.id, "Decrease Replica count operation failed for replication group %s on %s.", g.id, stamp(time.Now()))
				return err
			}
		}
	}
	if err := until(ctx, called.Add(g.timings.ReplicaRemoved)); err != nil {
		return err
	}
	p.logf(SourceGroup, g.id, "Decrease Replica count operation completed for replication group %s on %s.", g.id, stamp(time.Now()))
	return nil
}

// removeReplica removes m, unless it may be the last to have the data.
func (p *Plane) removeReplica(ctx context.Context, g *group, s *shard, m *member) error {
	if err := p.checkPrimary(ctx, g, s); err != nil {
		return err
	}
	if err := g.cluster.Remove(ctx, m.id, drainIdle, g.timings.Drain); err != nil {
		return err
	}
	p.mu.Lock()
	s.drop(m)
	p.unpointNode(g, m)
	p.mu.Unlock()
	p.opts.Changed()
	return nil
}

// checkPrimary wants the primary of s to answer.
func (p *Plane) checkPrimary(ctx context.Context, g *group, s *shard) error {
	topology, err := g.cluster.Topology(ctx)
	for _, seen := range topology {
		if seen.ID == s.id && seen.Primary != "" {
			return nil
		}
	}
	return errors.Join(fmt.Errorf("node group %s has no primary that answers", s.id), err)
}
