// Package cluster runs real redis-server (or valkey-server) processes on
// loopback as one Redis Cluster of N shards with M replicas each, shaped and
// named as ElastiCache shapes and names a replication group. It knows processes,
// ports and CLUSTER commands; it does not know the ElastiCache API, DNS names or
// what load will come.
//
// Start does, in this order:
//
//  1. sweep: remove what runs whose process was killed have left (sweep.go)
//  2. claim: make the cluster's folder, with its owner's name in it (dir.go)
//  3. bring up: one process a node, each on a free port, all of them children of
//     one locked thread so that they die with this process (spawn.go, node.go)
//  4. form: give out slots and epochs, introduce the nodes, attach replicas (form.go)
//  5. wait until every node would tell a client the same, complete topology (ready.go)
//
// A node that dies takes nobody with it: its death is told on Options.Log.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// readyWithin bounds Start when its context has no deadline. A cluster of
	// three shards needs 2 to 4 s; the rest is for a crowded CI machine.
	readyWithin = 60 * time.Second
	// politeFor is how long Stop waits after SIGTERM before it sends SIGKILL.
	politeFor = 3 * time.Second
)

// ErrStopped is returned for a node of a cluster that has been stopped.
var ErrStopped = errors.New("the local cluster is stopped")

// Node is one redis-server of the cluster. ID and Shard are ElastiCache's names
// (lb-0001-001, 0001); Addr is host:port; Primary tells the role the node was
// built with, not the one it has now; PID is 0 while its process is not running.
type Node struct {
	ID      string
	Shard   string
	Addr    string
	Primary bool
	PID     int
}

// Cluster is a running local cluster. Its methods may be called concurrently.
type Cluster struct {
	opts    Options
	server  Server
	dir     string
	log     io.Writer
	spawner *spawner
	nodes   []*node // fixed once Start has returned

	mu      sync.Mutex
	owner   owner // the owner file's content
	ready   bool  // from now on deaths are told
	stopped bool

	watchers sync.WaitGroup
	once     sync.Once
	stopErr  error
}

// Start runs the cluster o describes and returns when it is ready to serve: all
// slots are covered, every replica's link is up, and every node lists every
// other in CLUSTER SLOTS. ctx bounds only the start. When it fails, nothing is
// left running. The error is ErrNoServer if there is no server to run.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o = o.withDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	server, err := FindServer(ctx, o.Binary)
	if err != nil {
		return nil, err
	}
	c, err := build(o, server)
	if err != nil {
		return nil, fmt.Errorf("start local cluster: %w", err)
	}
	if err := c.bringUp(ctx); err != nil {
		return nil, fmt.Errorf("start local cluster: %w", errors.Join(err, c.Stop()))
	}
	return c, nil
}

// build claims a folder and lays the cluster out; no process runs yet.
func build(o Options, server Server) (*Cluster, error) {
	dir, own, err := claim(o.Dir)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		opts: o, server: server, dir: dir, owner: own,
		log:     &lockedWriter{w: o.Log},
		spawner: newSpawner(),
		nodes:   layOut(o, dir),
	}, nil
}

// bringUp starts the processes and makes one cluster of them.
func (c *Cluster) bringUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	defer c.hangUp()
	if err := c.runAll(ctx); err != nil {
		return err
	}
	if err := c.form(ctx); err != nil {
		return err
	}
	return c.becomeReady()
}

// runAll starts all nodes. A standalone replica's configuration holds its
// primary's port, so there the primary has to be up first.
func (c *Cluster) runAll(ctx context.Context) error {
	ports := newPorts(c.opts.Port)
	if !c.opts.Standalone {
		return c.run(ctx, c.nodes, ports)
	}
	if err := c.run(ctx, c.nodes[:1], ports); err != nil {
		return err
	}
	return c.run(ctx, c.nodes[1:], ports)
}

// becomeReady lets deaths be told from here on. A node that died between the
// last check and now would be told by nobody, so it is looked for once more.
func (c *Cluster) becomeReady() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.nodes {
		if err := n.exited(); err != nil {
			return err
		}
	}
	c.ready = true
	return nil
}

// hangUp closes the connections used for forming the cluster.
func (c *Cluster) hangUp() {
	for _, n := range c.nodes {
		n.hangUp()
	}
}

// Dir is the folder that holds the nodes' files; it is gone after Stop.
func (c *Cluster) Dir() string { return c.dir }

// Server is the program the nodes run.
func (c *Cluster) Server() Server { return c.server }

// Nodes lists all nodes, shard by shard, the built primary first.
func (c *Cluster) Nodes() []Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes := make([]Node, len(c.nodes))
	for i, n := range c.nodes {
		nodes[i] = n.public()
	}
	return nodes
}

// Addrs lists the host:port of all nodes, in the order of Nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		addrs[i] = n.addr()
	}
	return addrs
}

// Kill ends node id with SIGKILL and returns when its process is gone.
func (c *Cluster) Kill(id string) error {
	running, err := c.running(id)
	if err != nil {
		return fmt.Errorf("kill %s: %w", id, err)
	}
	if err := running.signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", id, err)
	}
	<-running.done
	return nil
}

// Signal sends s to node id, for example SIGSTOP to hang it.
func (c *Cluster) Signal(id string, s os.Signal) error {
	running, err := c.running(id)
	if err == nil {
		err = running.signal(s)
	}
	if err != nil {
		return fmt.Errorf("signal %s: %w", id, err)
	}
	return nil
}

// Restart runs the process of a dead node again, under its own name and port
// and with its own nodes.conf, and returns when it answers. Its data is gone, as
// it is when ElastiCache replaces a node; what it becomes (a replica, most
// likely) is between it and the other nodes.
func (c *Cluster) Restart(ctx context.Context, id string) error {
	n, err := c.node(id)
	if err != nil {
		return fmt.Errorf("restart %s: %w", id, err)
	}
	if err := c.launch(n); err != nil {
		return fmt.Errorf("restart %s: %w", id, err)
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if err := c.answers(ctx, n); err != nil {
		return fmt.Errorf("restart %s: %w", id, err)
	}
	return nil
}

// Stop ends all processes (SIGTERM, after 3 s SIGKILL), waits for them and
// removes the folder. Further calls return what the first one did.
func (c *Cluster) Stop() error {
	c.once.Do(func() { c.stopErr = c.stop() })
	return c.stopErr
}

func (c *Cluster) stop() error {
	for _, running := range c.retire() {
		// The error is that it has ended already, which is what we want.
		_ = running.signal(syscall.SIGTERM)
		_ = running.signal(sigCont) // a hung (SIGSTOPped) node cannot hear SIGTERM
	}
	impatience := time.AfterFunc(politeFor, c.killAll)
	c.watchers.Wait()
	impatience.Stop()
	c.spawner.close()
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("stop local cluster: %w", err)
	}
	return nil
}

// retire lets no further process start and returns those that run.
func (c *Cluster) retire() []*child {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	var running []*child
	for _, n := range c.nodes {
		if n.alive() {
			running = append(running, n.child)
		}
	}
	return running
}

// killAll is what is left when asking nicely has not helped.
func (c *Cluster) killAll() {
	for _, running := range c.retire() {
		_ = running.signal(syscall.SIGKILL)
	}
}

// node finds a node by its name.
func (c *Cluster) node(id string) (*node, error) {
	for _, n := range c.nodes {
		if n.id == id {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no such node, there are %s to %s", c.nodes[0].id, c.nodes[len(c.nodes)-1].id)
}

// running finds the process of node id.
func (c *Cluster) running(id string) (*child, error) {
	n, err := c.node(id)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !n.alive() {
		return nil, errors.New("not running")
	}
	return n.child, nil
}
