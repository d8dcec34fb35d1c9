package control

import (
	"context"
	"fmt"
	"time"

	"github.com/rankbench/rankbench/internal/local/cluster"
)

// DeleteReplicationGroup deletes a group with all its nodes, in the background.
func (p *Plane) DeleteReplicationGroup(_ context.Context, id string) (ReplicationGroup, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, err := p.find(id)
	if err != nil {
		return ReplicationGroup{}, err
	}
	if g.status != Failed {
		if err := g.checkIdle(); err != nil {
			return ReplicationGroup{}, err
		}
	}
	called := time.Now()
	g.status, g.busy = Deleting, "its deletion"
	p.inBackground(func(ctx context.Context) {
		p.opts.Changed()
		p.remove(ctx, g, called.Add(g.timings.Delete))
	})
	return p.describe(g), nil
}

// remove ends g's processes and forgets it.
func (p *Plane) remove(ctx context.Context, g *group, earliest time.Time) {
	if until(ctx, earliest) != nil {
		return // the plane stops, and ends all clusters itself
	}
	if c := p.take(g); c != nil {
		if err := c.Stop(); err != nil {
			fmt.Fprintf(p.opts.Log, "delete %s: %v\n", g.id, err)
		}
	}
	p.forget(g)
	p.opts.Changed()
}

// take takes g's cluster out of it.
func (p *Plane) take(g *group) *cluster.Cluster {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := g.cluster
	g.cluster = nil
	return c
}

func (p *Plane) forget(g *group) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unpoint(g)
	for _, s := range g.shards {
		for _, m := range s.members {
			p.log(SourceCluster, m.id, "Cache cluster deleted")
		}
	}
	delete(p.groups, g.id)
}
