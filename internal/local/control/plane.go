// Package control is the control plane of the local ElastiCache: replication
// groups, the operations on them, their events. It does with real processes
// (package cluster) what ElastiCache does with nodes, in ElastiCache's order,
// words and, as far as its Timings say so, time. It knows no wire format and no
// HTTP: package api translates.
//
// A call that changes something goes like this:
//
//  1. it is checked as AWS would; a refusal is an *Error (types.go)
//  2. the group becomes busy: AWS takes one operation a group at a time
//  3. the call returns the group as it is now; the operation goes on in the background
//  4. the operation waits, works on the cluster, and writes events (events.go)
//  5. the group is free again; nodes that are down are replaced (recover.go)
//
// One mutex guards all groups. No operation holds it while it waits or works.
package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/local/cluster"
)

// account is AWS's account id of everything local.
const account = "000000000000"

// Plane is the control plane of one local ElastiCache. Its methods may be
// called concurrently. Refusals are *Error.
type Plane struct {
	opts Options

	mu        sync.Mutex
	groups    map[string]*group
	events    []Event // oldest first
	seq       uint64
	calls     []Call // oldest first
	failovers []time.Time
	stopping  bool

	stopped chan struct{} // closed by Stop
	work    sync.WaitGroup
}

// New makes a control plane without groups.
func New(o Options) *Plane {
	return &Plane{opts: o.withDefaults(), groups: map[string]*group{}, stopped: make(chan struct{})}
}

// Account is the AWS account id that everything belongs to.
func (p *Plane) Account() string { return account }

// Region is the AWS region that everything is in.
func (p *Plane) Region() string { return p.opts.Region }

// Stop ends all operations and all groups, and returns when nothing runs any more.
func (p *Plane) Stop() error {
	p.mu.Lock()
	already := p.stopping
	p.stopping = true
	p.mu.Unlock()
	if !already {
		close(p.stopped)
	}
	p.work.Wait()
	var errs []error
	for _, c := range p.clusters() {
		errs = append(errs, c.Stop())
	}
	return errors.Join(errs...)
}

// clusters lists the clusters of all groups that have one.
func (p *Plane) clusters() []*cluster.Cluster {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*cluster.Cluster
	for _, g := range p.groups {
		if g.cluster != nil {
			all = append(all, g.cluster)
		}
	}
	return all
}

// begin makes g busy with what and runs work in the background, with a context
// that ends with the plane. The caller holds mu.
func (p *Plane) begin(g *group, what string, work func(context.Context) error) {
	g.busy = what
	p.inBackground(func(ctx context.Context) {
		p.opts.Changed()
		err := work(ctx)
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(p.opts.Log, "%s of %s failed: %v\n", what, g.id, err)
		}
		p.end(g, err)
		p.opts.Changed()
		p.heal(g)
	})
}

// end makes g free again. What an operation that failed has not brought about is
// forgotten; nodes that it has left down are recovered later.
func (p *Plane) end(g *group, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g.busy, g.moved = "", nil
	if g.status == Modifying {
		g.status = Available
	}
	g.settle()
	p.point(g)
	if err == nil {
		g.pause = 0
	} else {
		g.pause = min(max(2*g.pause, pauseMin), pauseMax)
	}
}

// inBackground runs work, unless the plane is stopping, with a context that ends
// with the plane. The caller holds mu.
func (p *Plane) inBackground(work func(context.Context)) {
	if p.stopping {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.work.Go(func() {
		defer cancel()
		work(ctx)
	})
	p.work.Go(func() {
		select {
		case <-p.stopped:
			cancel()
		case <-ctx.Done():
		}
	})
}

// until waits for a time, or for the end of ctx.
func until(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// find finds a group. The caller holds mu.
func (p *Plane) find(id string) (*group, error) {
	if g := p.groups[id]; g != nil {
		return g, nil
	}
	return nil, refuse(CodeGroupNotFound, "ReplicationGroup %s not found.", id)
}

// idle finds a group that can take an operation. The caller holds mu.
func (p *Plane) idle(id string) (*group, error) {
	g, err := p.find(id)
	if err != nil {
		return nil, err
	}
	return g, g.checkIdle()
}

// checkIdle refuses where something goes on.
func (g *group) checkIdle() error {
	switch {
	case g.status != Available:
		return refuse(CodeGroupState, "Replication group %s is not in the available state: it is %s.", g.id, g.status)
	case g.busy != "":
		return refuse(CodeGroupState, "Replication group %s is not in the available state: %s goes on.", g.id, g.busy)
	}
	return nil
}

// ReplicationGroups describes the group of an id or, if it is "", all, by id.
func (p *Plane) ReplicationGroups(id string) ([]ReplicationGroup, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id != "" {
		g, err := p.find(id)
		if err != nil {
			return nil, err
		}
		return []ReplicationGroup{p.describe(g)}, nil
	}
	var all []ReplicationGroup
	for _, g := range p.sorted() {
		all = append(all, p.describe(g))
	}
	return all, nil
}

// sorted lists the groups by id. The caller holds mu.
func (p *Plane) sorted() []*group {
	all := make([]*group, 0, len(p.groups))
	for _, g := range p.groups {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *group) int { return cmp.Compare(a.id, b.id) })
	return all
}

// Nodes lists the nodes that have joined their groups, up or down.
func (p *Plane) Nodes() []NodeInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []NodeInfo
	for _, g := range p.sorted() {
		if g.cluster == nil {
			continue // not up yet, or on its way out
		}
		pids := g.pids()
		for _, s := range g.shards {
			for _, m := range s.members {
				if m.joined {
					all = append(all, NodeInfo{CacheClusterID: m.id, GroupID: g.id, NodeGroupID: s.id, Addr: m.addr(), PID: pids[m.id]})
				}
			}
		}
	}
	return all
}

// pids lists the processes of the nodes that run.
func (g *group) pids() map[string]int {
	pids := map[string]int{}
	for _, n := range g.cluster.Nodes() {
		pids[n.ID] = n.PID
	}
	return pids
}

// Client makes a client of the node at addr that may do everything, for whoever
// measures it and closes the client then. It is nil if there is no such node.
func (p *Plane) Client(addr string) *redis.Client {
	for _, c := range p.clusters() {
		if slices.Contains(c.Addrs(), addr) {
			return c.Admin(addr)
		}
	}
	return nil
}
