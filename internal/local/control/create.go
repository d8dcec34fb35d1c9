package control

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/local/cluster"
)

const (
	maxNodeGroups = 90 // AWS's default quota of shards in a group
	maxReplicas   = 5  // of a shard
	maxPort       = 65535
	// DefaultNodeType is shown where none was asked for. It changes nothing.
	DefaultNodeType = "cache.r6g.large"
	// tokenMin and tokenMax bound an AUTH token's length.
	tokenMin, tokenMax = 16, 128
)

// groupID is what ElastiCache takes: 1 to 40 characters, begins with a letter,
// no two hyphens in a row, none at the end.
var groupID = regexp.MustCompile(`^[a-z](-?[a-z0-9]){0,39}$`)

// CreateReplicationGroup creates a group in the background.
func (p *Plane) CreateReplicationGroup(_ context.Context, in CreateInput) (ReplicationGroup, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, err := p.claim(in)
	if err != nil {
		return ReplicationGroup{}, err
	}
	called := g.created
	p.inBackground(func(ctx context.Context) {
		p.opts.Changed()
		if err := p.create(ctx, g, called.Add(g.timings.Create)); err != nil && ctx.Err() == nil {
			fmt.Fprintf(p.opts.Log, "%v\n", err)
		}
		p.opts.Changed()
		p.heal(g)
	})
	return p.describe(g), nil
}

// Up creates a group at once, and returns when it is available. If that fails,
// nothing is left of it.
func (p *Plane) Up(ctx context.Context, in CreateInput) error {
	p.mu.Lock()
	g, err := p.claim(in)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	if err := p.create(ctx, g, time.Now()); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.groups, g.id)
		return err
	}
	p.heal(g)
	return nil
}

// claim checks the parameters and enters the group as one that is being
// created. The caller holds mu.
func (p *Plane) claim(in CreateInput) (*group, error) {
	if err := complete(&in); err != nil {
		return nil, err
	}
	switch {
	case p.groups[in.ID] != nil:
		return nil, refuse(CodeGroupExists, "Replication group %s already exists.", in.ID)
	case p.collides(in):
		return nil, refuse(CodeParameterValue, "The cache clusters of replication group %s would have the names of another group's.", in.ID)
	case in.ClusterMode == "disabled" && p.opts.Names == nil:
		return nil, refuse(CodeParameterValue, "Cluster mode disabled gives each node an address of its own in 127.0.0.0/8, which needs Linux.")
	}
	enabled := in.ClusterMode == "enabled"
	g := &group{
		id: in.ID, in: in, created: time.Now(), clusterEnabled: enabled, timings: p.opts.Timings.of(enabled),
		status: Creating, busy: "its creation",
	}
	p.groups[g.id] = g
	return g, nil
}

// collides tells whether the nodes of in would have the names of another group's:
// xx-0001-001 is a node of xx with cluster mode enabled, and of xx-0001 without.
// The caller holds mu.
func (p *Plane) collides(in CreateInput) bool {
	for _, g := range p.groups {
		switch {
		case g.clusterEnabled == (in.ClusterMode == "enabled"):
		case g.clusterEnabled && isShardOf(in.ID, g.id), !g.clusterEnabled && isShardOf(g.id, in.ID):
			return true
		}
	}
	return false
}

// isShardOf tells whether id is group-NNNN.
func isShardOf(id, group string) bool {
	number, ok := strings.CutPrefix(id, group+"-")
	return ok && len(number) == 4 && strings.Trim(number, "0123456789") == ""
}

// create brings the group's cluster up; it becomes available at the earliest at a time.
func (p *Plane) create(ctx context.Context, g *group, earliest time.Time) error {
	c, err := cluster.Start(ctx, p.clusterOptions(g))
	if err != nil {
		p.failCreation(g)
		return err
	}
	if err := until(ctx, earliest); err != nil {
		return errors.Join(err, c.Stop())
	}
	p.adopt(g, c)
	if err := p.refresh(ctx, g); err != nil {
		p.failCreation(g)
		return errors.Join(err, p.take(g).Stop())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g.status, g.busy = Available, ""
	p.logGroupCreated(g)
	p.point(g)
	return nil
}

// failCreation leaves the group behind as AWS does: create-failed.
func (p *Plane) failCreation(g *group) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.status, g.busy = Failed, ""
	p.log(SourceGroup, g.id, "Failed to create replication group %s due to unsuccessful creation of its cache cluster(s).", g.id)
}

func (p *Plane) clusterOptions(g *group) cluster.Options {
	port := p.opts.Port
	if g.in.Port != nil {
		port = *g.in.Port
	}
	return cluster.Options{
		Group: g.id, Shards: *g.in.NumNodeGroups, Replicas: *g.in.ReplicasPerGroup,
		Standalone: !g.clusterEnabled, OwnHosts: !g.clusterEnabled, Port: port,
		FullCoverage: p.opts.FullCoverage, NodeTimeout: p.opts.NodeTimeout, Binary: p.opts.Binary,
		Restricted: true, TLS: g.in.TransitEncryption, Password: g.in.AuthToken,
		Names: p.certificateNames(g.id), Log: p.opts.Log,
		OnDeath: func(id string) { p.died(g, id) },
	}
}

// adopt enters the nodes of a fresh cluster.
func (p *Plane) adopt(g *group, c *cluster.Cluster) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.cluster = c
	for _, n := range c.Nodes() {
		s := g.shard(n.Shard)
		if s == nil {
			s = &shard{id: n.Shard, status: Available}
			g.shards = append(g.shards, s)
		}
		p.expect(s, n.ID).join(n)
		if n.Primary {
			s.primary = n.ID
		}
	}
}

// logGroupCreated writes the events of a new group. The caller holds mu.
func (p *Plane) logGroupCreated(g *group) {
	for _, s := range g.shards {
		for _, m := range s.members {
			p.logCreated(m)
		}
	}
	if g.autoFailover() {
		p.log(SourceGroup, g.id, "Automatic failover has been turned on for replication group %s", g.id)
	}
	p.log(SourceGroup, g.id, "Replication group %s created", g.id)
}

// CAFile is the file with the certificate of the authority that has signed the
// nodes' certificates, "" where the group has no TLS.
func (p *Plane) CAFile(id string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, err := p.find(id)
	if err != nil || g.cluster == nil {
		return ""
	}
	return g.cluster.CAFile()
}

// Dirs lists the folders of all groups' processes.
func (p *Plane) Dirs() []string {
	var dirs []string
	for _, c := range p.clusters() {
		dirs = append(dirs, c.Dir())
	}
	return dirs
}
