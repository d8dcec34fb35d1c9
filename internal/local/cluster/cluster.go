// Package cluster runs real redis-server (or valkey-server) processes on
// loopback as one Redis Cluster of N shards with M replicas each, or as one
// primary with replicas, shaped and named as ElastiCache shapes and names a
// replication group, and changes it while it serves. It knows processes,
// addresses, certificates and CLUSTER commands; it does not know the ElastiCache
// API, DNS names, when ElastiCache does what, or what load will come.
//
// Start does, in this order:
//
//  1. sweep: remove what runs whose process was killed have left (sweep.go)
//  2. claim: make the cluster's folder, with its owner's name in it (dir.go)
//  3. bring up: one process a node, each at a free address, all of them children
//     of one locked thread so that they die with this process (spawn.go, launch.go)
//  4. form: give out slots and epochs, introduce the nodes, attach replicas (form.go)
//  5. wait until every node would tell a client the same, complete topology (ready.go)
//
// Then the cluster can be changed: Promote (promote.go), Replace (replace.go),
// Reboot (reboot.go), AddReplica and AddShard (grow.go), Move (move.go,
// migrate.go, rollback.go), Remove and RemoveShard (shrink.go). Each returns when all nodes that
// can be reached agree on what it has done. A node counts as reachable if its
// process runs, is not stopped by a signal and answers within a second.
//
// A node that dies takes nobody with it: its death is told on Options.Log.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// readyWithin bounds Start when its context has no deadline. A cluster of three
// shards needs 2 to 4 s; the rest is for a crowded CI machine.
const readyWithin = 60 * time.Second

// ErrStopped is returned for a node of a cluster that has been stopped.
var ErrStopped = errors.New("the local cluster is stopped")

// errTooOld says that the server has no ACL users.
var errTooOld = errors.New("redis-server is older than 6.0, the first version with ACL users")

// Node is one redis-server of the cluster. ID and Shard are ElastiCache's names
// (lb-0001-001, 0001; without cluster mode lb-001, 0001); Addr is Host:Port;
// Primary tells the role as this package last knew it, from a change it made
// itself or from Topology; PID is 0 while its process is not running.
type Node struct {
	ID      string
	Shard   string
	Addr    string
	Host    string
	Port    int
	Primary bool
	PID     int
}

// Cluster is a running local cluster. Its methods may be called concurrently;
// a change of a node that is being changed already is refused.
type Cluster struct {
	opts    Options
	server  Server
	dir     string
	log     io.Writer
	spawner *spawner
	places  places
	admin   login
	ca      *authority // nil without TLS

	mu       sync.Mutex
	nodes    []*node // never changed in place, so that a copy of the slice can be read without mu
	owner    owner   // the owner file's content
	children map[*child]bool
	changes  map[*change]bool
	moving   int // calls of Move under way
	stopped  bool

	timing sync.Mutex // held while nodes are told the usual timeout, so that the last to be told is the newest

	changing  sync.WaitGroup // changes under way
	watchers  sync.WaitGroup
	callbacks sync.WaitGroup // calls of OnDeath
	once      sync.Once
	stopErr   error
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
	if !server.atLeast(6, 0) {
		return nil, fmt.Errorf("start local cluster: %s is version %s: %w", server.Binary, server.Version, errTooOld)
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
	c := &Cluster{
		opts: o, server: server, dir: dir, owner: own,
		log:      &lockedWriter{w: o.Log},
		spawner:  newSpawner(),
		places:   newPlaces(o),
		admin:    login{user: adminUser, password: newPassword()},
		nodes:    layOut(o, dir),
		children: map[*child]bool{},
		changes:  map[*change]bool{},
	}
	if o.TLS {
		if c.ca, err = newAuthority(dir, o.Group); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
		c.admin.tls = c.ca.config()
	}
	return c, nil
}

// bringUp starts the processes and makes one cluster of them.
func (c *Cluster) bringUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if err := c.runAll(ctx); err != nil {
		return err
	}
	if err := c.form(ctx); err != nil {
		return err
	}
	return c.settle(c.nodes...)
}

// runAll starts all nodes. A standalone replica's configuration holds its
// primary's address, so there the primary has to be up first.
func (c *Cluster) runAll(ctx context.Context) error {
	if !c.opts.Standalone {
		return c.run(ctx, c.nodes)
	}
	if err := c.run(ctx, c.nodes[:1]); err != nil {
		return err
	}
	return c.run(ctx, c.nodes[1:])
}

// settle lets the deaths of nodes be told from here on. A node that died between
// the last check and now would be told by nobody, so it is looked for once more.
func (c *Cluster) settle(nodes ...*node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range nodes {
		if err := n.exited(); err != nil {
			return err
		}
		n.child.settled = true
	}
	return nil
}

// Dir is the folder that holds the nodes' files; it is gone after Stop.
func (c *Cluster) Dir() string { return c.dir }

// Server is the program the nodes run.
func (c *Cluster) Server() Server { return c.server }

// CAFile is the PEM file with the certificate of the CA that made the nodes'
// certificates, "" without TLS. It is gone after Stop.
func (c *Cluster) CAFile() string {
	if c.ca == nil {
		return ""
	}
	return c.ca.file
}

// Nodes lists the present nodes, shard by shard, in the order of their names;
// after Start the first of each shard is its primary. A node that is being added
// is listed when it has joined, one that is being removed until it has ended.
func (c *Cluster) Nodes() []Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes := make([]Node, 0, len(c.nodes))
	for _, n := range c.nodes {
		if n.standing != joining {
			nodes = append(nodes, n.public())
		}
	}
	return nodes
}

// Addrs lists the host:port of all nodes, in the order of Nodes.
func (c *Cluster) Addrs() []string {
	nodes := c.Nodes()
	addrs := make([]string, len(nodes))
	for i, n := range nodes {
		addrs[i] = n.Addr
	}
	return addrs
}
