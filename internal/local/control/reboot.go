package control

import (
	"context"
	"slices"
	"time"
)

// RebootCacheCluster restarts a node, whose data is lost then: ElastiCache's
// documentation says so. A primary that is rebooted is not failed over. nodes
// are the ids of the cache nodes, of which there is only 0001.
func (p *Plane) RebootCacheCluster(_ context.Context, id string, nodes []string) (CacheCluster, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, m := p.findMember(id)
	if m == nil {
		return CacheCluster{}, refuse(CodeClusterNotFound, "CacheCluster not found: %s", id)
	}
	if err := g.checkReboot(m, nodes); err != nil {
		return CacheCluster{}, err
	}
	p.begin(g, "a reboot of "+id, func(ctx context.Context) error { return p.reboot(ctx, g, m) })
	m.status = Rebooting
	return p.describeCluster(g, m), nil
}

// findMember finds a node and its group. The caller holds mu.
func (p *Plane) findMember(id string) (*group, *member) {
	for _, g := range p.groups {
		if _, m := g.member(id); m != nil {
			return g, m
		}
	}
	return nil, nil
}

func (g *group) checkReboot(m *member, nodes []string) error {
	switch {
	case g.clusterEnabled:
		return refuse(CodeClusterState, "Rebooting is not supported on clusters with cluster mode enabled.")
	case !slices.Equal(nodes, []string{"0001"}):
		return refuse(CodeParameterValue, "CacheNodeIdsToReboot: cache cluster %s has one node, 0001.", m.id)
	}
	if err := g.checkIdle(); err != nil {
		return refuse(CodeClusterState, "Cache cluster %s is not in the available state: %s", m.id, err.(*Error).Message) //nolint:errorlint // checkIdle returns nothing else
	}
	return nil
}

func (p *Plane) reboot(ctx context.Context, g *group, m *member) error {
	if err := g.cluster.Kill(m.id); err != nil {
		return err
	}
	p.mu.Lock()
	m.down = true
	p.point(g)
	p.log(SourceCluster, m.id, "Cache node 0001 shutdown")
	p.mu.Unlock()
	p.opts.Changed()
	if err := until(ctx, time.Now().Add(g.timings.Reboot)); err != nil {
		return err
	}
	if err := g.cluster.Reboot(ctx, m.id); err != nil {
		return err
	}
	p.rejoin(g, m)
	p.logf(SourceCluster, m.id, "Cache node 0001 restarted")
	return nil
}
