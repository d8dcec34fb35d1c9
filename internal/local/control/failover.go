package control

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// quotaWindow is the time for which TestFailover's quota counts.
const quotaWindow = 24 * time.Hour

// TestFailover takes the primary of a node group down; a replica is promoted,
// and the node replaced by an empty one.
func (p *Plane) TestFailover(ctx context.Context, id, nodeGroup string) (ReplicationGroup, error) {
	if err := p.lookFirst(ctx, id); err != nil {
		return ReplicationGroup{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g, err := p.find(id)
	if err != nil {
		return ReplicationGroup{}, err
	}
	s := g.shard(nodeGroup)
	if s == nil {
		return ReplicationGroup{}, refuse(CodeNodeGroupNotFound, "Node group %s not found in replication group %s.", nodeGroup, id)
	}
	if err := p.checkFailover(g, s); err != nil {
		return ReplicationGroup{}, err
	}
	called := time.Now()
	p.failovers = append(p.failovers, called)
	p.log(SourceGroup, g.id, "Test Failover API called for node group %s", s.id)
	g.status, s.status = p.opts.FailoverStatus, p.opts.FailoverStatus
	p.begin(g, "a failover of node group "+s.id, func(ctx context.Context) error { return p.failOver(ctx, g, s, called) })
	return p.describe(g), nil
}

// lookFirst lets the plane know the present roles, as far as nodes answer, before
// a call is judged.
func (p *Plane) lookFirst(ctx context.Context, id string) error {
	p.mu.Lock()
	g, err := p.find(id)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	_ = p.refresh(ctx, g) // a group of which no node answers is judged by what is known
	return nil
}

// checkFailover refuses what AWS refuses. The caller holds mu. Which code a
// group without a replica or without automatic failover gets is not
// documented; InvalidReplicationGroupState is the modelled one that fits.
func (p *Plane) checkFailover(g *group, s *shard) error {
	if err := g.checkIdle(); err != nil {
		return err
	}
	switch {
	case !g.autoFailover():
		return refuse(CodeGroupState, "Automatic failover is not enabled for replication group %s.", g.id)
	case !g.multiAZ():
		return refuse(CodeGroupState, "Multi-AZ is not enabled for replication group %s.", g.id)
	case !slices.ContainsFunc(s.replicas(), func(m *member) bool { return !m.down }):
		return refuse(CodeGroupState, "Node group %s of replication group %s has no replica that is available.", s.id, g.id)
	}
	return p.checkQuota()
}

func (p *Plane) checkQuota() error {
	p.failovers = slices.DeleteFunc(p.failovers, func(t time.Time) bool { return time.Since(t) > quotaWindow })
	if q := p.opts.FailoverQuota; q > 0 && len(p.failovers) >= q {
		return refuse(CodeTooManyFailovers, "The customer has exceeded the allowed rate of API calls: %d node groups in 24 hours.", q)
	}
	return nil
}

// failOver is what becomes of a call of TestFailover.
func (p *Plane) failOver(ctx context.Context, g *group, s *shard, called time.Time) error {
	if err := until(ctx, called.Add(g.timings.FailoverStart)); err != nil {
		return err
	}
	if err := p.refresh(ctx, g); err != nil {
		return err
	}
	old, err := p.takeDown(ctx, g, s)
	if err != nil {
		return err
	}
	return p.succeed(ctx, g, s, old, time.Now())
}

// takeDown ends the primary of s, and lets no replica stand for election before
// the control plane has chosen: with three shards or more they would.
func (p *Plane) takeDown(ctx context.Context, g *group, s *shard) (*member, error) {
	if _, err := g.cluster.BestReplica(ctx, s.id); err != nil {
		return nil, err
	}
	p.mu.Lock()
	old := s.member(s.primary)
	p.mu.Unlock()
	if old == nil {
		return nil, fmt.Errorf("node group %s has no primary", s.id)
	}
	p.freeze(ctx, g, s, true)
	if err := p.strike(g, old.id); err != nil {
		p.freeze(ctx, g, s, false)
		return nil, err
	}
	p.mu.Lock()
	old.down = true
	p.point(g)
	p.mu.Unlock()
	p.opts.Changed()
	return old, nil
}

// freeze does what it can: a node that does not answer now can hardly stand for
// election, and the failover does not wait for it.
func (p *Plane) freeze(ctx context.Context, g *group, s *shard, frozen bool) {
	if err := g.cluster.Freeze(ctx, s.id, frozen); err != nil && ctx.Err() == nil {
		fmt.Fprintf(p.opts.Log, "%s: %v\n", g.id, err)
	}
}

func (p *Plane) strike(g *group, id string) error {
	if p.opts.Style == Hang {
		return g.cluster.Signal(id, syscall.SIGSTOP)
	}
	return g.cluster.Kill(id)
}

// succeed promotes a replica of s in the place of old, which is down since a
// time, and then replaces old.
func (p *Plane) succeed(ctx context.Context, g *group, s *shard, old *member, down time.Time) error {
	if err := until(ctx, down.Add(g.timings.Failover)); err != nil {
		return err
	}
	promoted, err := p.promote(ctx, g, s, old)
	if err != nil {
		return err
	}
	if err := until(ctx, promoted.Add(g.timings.NameMoved)); err != nil {
		return err
	}
	p.mu.Lock()
	p.point(g)
	p.mu.Unlock()
	p.opts.Changed()
	return p.replace(ctx, g, old, promoted)
}

// promote makes the replica that is least behind the primary of s.
func (p *Plane) promote(ctx context.Context, g *group, s *shard, old *member) (time.Time, error) {
	best, err := g.cluster.BestReplica(ctx, s.id)
	if err == nil {
		err = g.cluster.Promote(ctx, best)
	}
	p.freeze(ctx, g, s, false)
	if err != nil {
		return time.Time{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.primary = best
	p.logFailover(g, old.id, best)
	return time.Now(), nil
}

// logFailover writes the event of a failover: in AWS's API reference it comes
// from both the node and the group; logs of real groups with cluster mode
// enabled have it once and shorter. The caller holds mu.
func (p *Plane) logFailover(g *group, old, promoted string) {
	if p.opts.Wording == Observed && g.clusterEnabled {
		p.log(SourceGroup, g.id, "Failover to replica node %s completed", promoted)
		return
	}
	format := "Failover from primary node %s to replica node %s completed"
	if p.opts.Wording == Observed {
		format = "Failover from master node %s to replica node %s completed"
	}
	p.log(SourceCluster, old, format, old, promoted)
	p.log(SourceGroup, g.id, format, old, promoted)
}
