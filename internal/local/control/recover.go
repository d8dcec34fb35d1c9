package control

import (
	"context"
	"fmt"
	"time"
)

// replace puts an empty node in the place of m, under its name, which copies
// the data set of the primary that was promoted at a time.
func (p *Plane) replace(ctx context.Context, g *group, m *member, promoted time.Time) error {
	if err := until(ctx, promoted.Add(g.timings.RecoveryStart)); err != nil {
		return err
	}
	p.mu.Lock()
	m.status = Modifying
	p.log(SourceCluster, m.id, "Recovering cache nodes 0001")
	p.mu.Unlock()
	if err := until(ctx, promoted.Add(g.timings.Rejoin)); err != nil {
		return err
	}
	if err := g.cluster.Replace(ctx, m.id); err != nil {
		return err
	}
	p.rejoin(g, m)
	if err := until(ctx, promoted.Add(g.timings.Recovery)); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m.status = Available
	p.log(SourceCluster, m.id, "Finished recovery for cache nodes 0001")
	return nil
}

// rejoin enters that m's node runs again; its recovery may not be finished yet.
func (p *Plane) rejoin(g *group, m *member) {
	p.mu.Lock()
	for _, n := range g.cluster.Nodes() {
		if n.ID == m.id {
			status := m.status
			m.join(n)
			m.status = status
		}
	}
	p.point(g)
	p.mu.Unlock()
	p.opts.Changed()
}

// died is told of each node that ended without our doing.
func (p *Plane) died(g *group, id string) {
	p.mu.Lock()
	if _, m := g.member(id); m != nil {
		m.down = true
		p.point(g)
	}
	p.mu.Unlock()
	p.opts.Changed()
	p.heal(g)
}

// pauseMin and pauseMax bound the pause after a recovery that failed, which
// doubles from one to the next.
const (
	pauseMin = time.Second
	pauseMax = time.Minute
)

// heal lets g recover from the death of a node, as ElastiCache does by itself:
// a primary is succeeded, and every node that is down replaced, however often it
// takes. It does nothing while the group is busy; it is called again when it no
// longer is.
func (p *Plane) heal(g *group) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g.checkIdle() != nil {
		return
	}
	s, m := g.firstDown()
	if m == nil {
		return
	}
	down := time.Now().Add(g.pause)
	p.begin(g, "the recovery of "+m.id, func(ctx context.Context) error {
		if err := until(ctx, down); err != nil {
			return err
		}
		return p.recover(ctx, g, s, m, down)
	})
}

// firstDown finds a node to recover. A primary comes first: its replicas need it.
func (g *group) firstDown() (*shard, *member) {
	for _, s := range g.shards {
		if m := s.member(s.primary); m != nil && m.down {
			return s, m
		}
	}
	for _, s := range g.shards {
		for _, m := range s.members {
			if m.down {
				return s, m
			}
		}
	}
	return nil, nil
}

// recover replaces m, and promotes a replica first if m is the primary.
func (p *Plane) recover(ctx context.Context, g *group, s *shard, m *member, down time.Time) error {
	p.mu.Lock()
	wasPrimary := s.primary == m.id
	p.mu.Unlock()
	if !wasPrimary {
		return p.replace(ctx, g, m, down)
	}
	p.freeze(ctx, g, s, true)
	if p.elected(ctx, g, s, m) {
		p.freeze(ctx, g, s, false)
		return p.replace(ctx, g, m, down)
	}
	if _, err := g.cluster.BestReplica(ctx, s.id); err != nil {
		return p.startOver(ctx, g, s, m, down)
	}
	return p.succeed(ctx, g, s, m, down)
}

// elected tells whether the cluster itself has found a successor for m, the
// primary of s, while the group was busy.
func (p *Plane) elected(ctx context.Context, g *group, s *shard, m *member) bool {
	_ = p.refresh(ctx, g) // where no node answers, none is elected
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.primary == m.id {
		return false
	}
	p.logFailover(g, m.id, s.primary)
	return true
}

// startOver brings back a primary that nobody can succeed. Its data is lost.
func (p *Plane) startOver(ctx context.Context, g *group, s *shard, m *member, down time.Time) error {
	p.logf(SourceCluster, m.id, "Recovering cache nodes 0001")
	if err := until(ctx, down.Add(g.timings.Recovery)); err != nil {
		return err
	}
	if err := g.cluster.Reboot(ctx, m.id); err != nil {
		return err
	}
	p.freeze(ctx, g, s, false)
	p.rejoin(g, m)
	p.logf(SourceCluster, m.id, "Finished recovery for cache nodes 0001")
	fmt.Fprintf(p.opts.Log, "%s had no replica that could succeed it: its data is lost\n", m.id)
	return nil
}
