// Package local is a local ElastiCache: the AWS API on a loopback endpoint over
// real redis-server processes. It puts the parts together and knows none of
// what they do:
//
//  1. package dns answers for the endpoints' names
//  2. package control makes the first replication group, of package cluster's processes,
//     or all that package keep has kept, which fills them
//  3. package metrics samples the nodes
//  4. package api serves the three over HTTP
//
// Stop ends them in the opposite order. Nothing of it listens on, or talks to,
// anything but loopback.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rankbench/rankbench/internal/local/api"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/control"
	"github.com/rankbench/rankbench/internal/local/dns"
	"github.com/rankbench/rankbench/internal/local/keep"
	"github.com/rankbench/rankbench/internal/local/metrics"
	"github.com/rankbench/rankbench/internal/local/state"
)

const loopback = "127.0.0.1"

// Options say what to run. Control's Names, Zone, Log and Changed are filled in.
type Options struct {
	Control control.Options
	Group   control.CreateInput // the first group
	Kept    *keep.Kept          // fills Group, brings the groups after its first one, and needs Control.NodeTimeout; nil = nothing
	APIPort int                 // of the endpoint; 0, or if it is taken: a random free one
	DNSPort int                 // of the DNS server; 0 = a random free one
	Log     io.Writer           // deaths of nodes, failed operations; nil = nowhere
	// Changed is called, from any goroutine but never by two at a time, when
	// groups or nodes have changed after Up has returned; nil = nobody.
	Changed func()
}

// Validate says what is wrong with the options, before anything is started.
func (o Options) Validate() error {
	c := cluster.Options{
		Group: o.Group.ID, Shards: *o.Group.NumNodeGroups, Replicas: *o.Group.ReplicasPerGroup,
		NodeTimeout: o.Control.NodeTimeout, Port: o.Control.Port,
	}
	if *o.Group.NumNodeGroups == 0 { // which to the package means the default
		return errors.New("shards: 0 is not at least 1")
	}
	if err := c.Validate(); err != nil {
		return err
	}
	err := control.Validate(o.Group)
	if refusal := new(control.Error); errors.As(err, &refusal) {
		return errors.New(refusal.Message)
	}
	return err
}

// Local is a running local ElastiCache.
type Local struct {
	opts    Options
	server  cluster.Server
	started time.Time
	plane   *control.Plane
	names   *dns.Server // nil where cluster mode disabled is not possible
	metrics *metrics.Store
	url     string

	cancel context.CancelFunc // of the HTTP server
	served chan error         // what became of it

	mu sync.Mutex // one call of Changed at a time
	up bool

	stopping sync.Once
	stopped  error
}

// Up starts a local ElastiCache with its first group, and returns when that is
// available. ctx bounds only the start. If it fails, nothing is left running.
func Up(ctx context.Context, o Options) (*Local, error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	server, err := cluster.FindServer(ctx, o.Control.Binary)
	if err != nil {
		return nil, err
	}
	l := &Local{opts: o, server: server, started: time.Now(), served: make(chan error, 1)}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(err, l.Stop())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.up = true
	return l, nil
}

func (l *Local) start(ctx context.Context) error {
	if err := l.startNames(ctx); err != nil {
		return err
	}
	l.plane = control.New(l.controlOptions())
	if err := l.makeGroups(ctx); err != nil {
		return err
	}
	l.metrics = metrics.Start(context.WithoutCancel(ctx), metrics.Options{Nodes: l.nodes, Client: l.plane.Client})
	return l.serve(ctx)
}

// makeGroups makes the first group, and with Kept the others, and fills them.
func (l *Local) makeGroups(ctx context.Context) error {
	inputs := []control.CreateInput{l.opts.Group}
	if l.opts.Kept != nil {
		for _, g := range l.opts.Kept.Groups[1:] {
			inputs = append(inputs, CreateInput(g.Group))
		}
	}
	for _, in := range inputs {
		if err := l.plane.Up(ctx, in); err != nil {
			return fmt.Errorf("create replication group %s: %w", in.ID, err)
		}
	}
	if l.opts.Kept == nil {
		return nil
	}
	return l.restore(ctx)
}

// restoreTimeout is the nodes' timeout meanwhile: a RESTORE of ten million
// members holds its node up for 20 s, and the others would take it for dead.
const restoreTimeout = 10 * time.Minute

// restore fills the groups, which are fresh, with what was kept.
func (l *Local) restore(ctx context.Context) error {
	for _, g := range l.opts.Kept.Groups {
		t := l.restoreTarget(g)
		if err := t.SetNodeTimeout(ctx, g, restoreTimeout); err != nil {
			return err
		}
		n, err := l.opts.Kept.Restore(ctx, g, t)
		if err != nil {
			return err
		}
		if err := t.SetNodeTimeout(ctx, g, l.opts.Control.NodeTimeout); err != nil {
			return err
		}
		fmt.Fprintf(l.opts.Log, "restored %s: %d keys\n", g.ID, n)
	}
	return nil
}

func (l *Local) restoreTarget(g keep.Group) keep.Target {
	t := keep.Target{Replicas: g.Replicas}
	for _, n := range l.plane.Nodes() { // of a fresh group the primary first
		if n.GroupID == g.ID {
			client := l.plane.Client(n.Addr)
			t.Nodes = append(t.Nodes, client.Options())
			_ = client.Close() // it has no connection yet
		}
	}
	return t
}

// CreateInput is what makes a group again.
func CreateInput(g state.Group) control.CreateInput {
	mode := "disabled"
	if g.ClusterEnabled {
		mode = "enabled"
	}
	return control.CreateInput{
		ID: g.ID, Description: g.Description, Engine: g.Engine, NodeType: g.NodeType, ClusterMode: mode,
		NumNodeGroups: &g.Shards, ReplicasPerGroup: &g.Replicas, AutomaticFailover: &g.AutomaticFailover, MultiAZ: &g.MultiAZ,
		TransitEncryption: g.TLS, Tags: g.Tags,
	}
}

// startNames starts the DNS server. Its names lead to addresses in 127.0.0.0/8,
// which only Linux has as a whole.
func (l *Local) startNames(ctx context.Context) (err error) {
	if runtime.GOOS != "linux" {
		return nil
	}
	l.names, err = dns.Start(context.WithoutCancel(ctx), net.JoinHostPort(loopback, strconv.Itoa(l.opts.DNSPort)))
	return err
}

func (l *Local) controlOptions() control.Options {
	o := l.opts.Control
	o.Log, o.Changed, o.Zone = l.opts.Log, l.changed, dns.Zone
	if l.names != nil {
		o.Names = l.names
	}
	return o
}

// serve starts the HTTP endpoint.
func (l *Local) serve(ctx context.Context) error {
	listener, err := listen(ctx, l.opts.APIPort)
	if err != nil {
		return fmt.Errorf("listen for the AWS API: %w", err)
	}
	l.url = "http://" + listener.Addr().String()
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	handler := api.New(l.plane, l.metrics, l.opts.Log)
	go func() { l.served <- api.Serve(ctx, listener, handler) }()
	return nil
}

// listen takes the port that is wished for, or a free one if somebody has it.
func listen(ctx context.Context, port int) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil && port != 0 {
		return config.Listen(ctx, "tcp", net.JoinHostPort(loopback, "0"))
	}
	return listener, err
}

// nodes lists the nodes to measure.
func (l *Local) nodes() []metrics.Node {
	var nodes []metrics.Node
	for _, n := range l.plane.Nodes() {
		nodes = append(nodes, metrics.Node{CacheClusterID: n.CacheClusterID, Addr: n.Addr})
	}
	return nodes
}

func (l *Local) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.up && l.opts.Changed != nil {
		l.opts.Changed()
	}
}

// Stop ends everything and returns when it is gone. Changed is not called any
// more once it has begun. A further call returns what the first one did.
func (l *Local) Stop() error {
	l.stopping.Do(func() { l.stopped = l.stop() })
	return l.stopped
}

func (l *Local) stop() error {
	l.mu.Lock()
	l.up = false
	l.mu.Unlock()
	var errs []error
	if l.cancel != nil {
		l.cancel()
		errs = append(errs, <-l.served)
	}
	if l.metrics != nil {
		l.metrics.Stop()
	}
	if l.plane != nil {
		errs = append(errs, l.plane.Stop())
	}
	if l.names != nil {
		errs = append(errs, l.names.Close())
	}
	return errors.Join(errs...)
}

// URL is the address of the AWS API.
func (l *Local) URL() string { return l.url }

// State describes what runs now, for those who come later. Owner is this process.
func (l *Local) State() (state.State, error) {
	owner, err := cluster.Self()
	if err != nil {
		return state.State{}, err
	}
	s := state.State{
		Group: l.opts.Group.ID, Owner: owner, API: l.url, Region: l.plane.Region(),
		Server: l.server.Binary, ServerVersion: l.server.Version,
		Dirs: l.plane.Dirs(), Started: l.started, CAFile: l.plane.CAFile(l.opts.Group.ID),
	}
	if l.names != nil {
		s.Resolver = l.names.Addr()
	}
	l.describeGroup(&s)
	for _, n := range l.plane.Nodes() {
		s.Nodes = append(s.Nodes, state.Node{Group: n.GroupID, ID: n.CacheClusterID, Shard: n.NodeGroupID, Addr: n.Addr, PID: n.PID})
	}
	s.Groups, err = l.stateOfGroups()
	return s, err
}

// stateOfGroups describes the groups, the first one first.
func (l *Local) stateOfGroups() ([]state.Group, error) {
	described, err := l.plane.ReplicationGroups("")
	if err != nil {
		return nil, err
	}
	var groups []state.Group
	for _, d := range described {
		g, err := l.stateOfGroup(d)
		switch {
		case err != nil:
			return nil, err
		case g.ID == "": // deleted since
		case g.ID == l.opts.Group.ID:
			groups = slices.Insert(groups, 0, g)
		default:
			groups = append(groups, g)
		}
	}
	return groups, nil
}

func (l *Local) stateOfGroup(d control.ReplicationGroup) (state.Group, error) {
	g := state.Group{
		ID: d.ID, Description: d.Description, Engine: d.Engine, NodeType: d.NodeType, ClusterEnabled: d.ClusterEnabled,
		AutomaticFailover: d.AutomaticFailover, MultiAZ: d.MultiAZ, TLS: d.TransitEncryption, AuthToken: d.AuthToken,
		CAFile: l.plane.CAFile(d.ID), Status: d.Status, Busy: d.Busy,
	}
	for _, n := range d.NodeGroups {
		if len(n.Members) > 0 {
			g.Shards, g.Replicas = g.Shards+1, max(g.Replicas, len(n.Members)-1)
		}
	}
	tags, err := l.plane.Tags(d.ARN)
	if refusal := new(control.Error); errors.As(err, &refusal) {
		return state.Group{}, nil // it is gone
	}
	g.Tags = tags
	return g, err
}

// describeGroup adds how the first group is reached, if it is still there.
func (l *Local) describeGroup(s *state.State) {
	groups, err := l.plane.ReplicationGroups(s.Group)
	if err != nil || len(groups[0].NodeGroups) == 0 {
		return
	}
	g := groups[0]
	s.ClusterEnabled = g.ClusterEnabled
	if n := g.NodeGroups[0]; n.PrimaryEndpoint != nil {
		s.Primary, s.Reader = hostPort(*n.PrimaryEndpoint), hostPort(*n.ReaderEndpoint)
	}
}

func hostPort(e control.Endpoint) string { return net.JoinHostPort(e.Address, strconv.Itoa(e.Port)) }
