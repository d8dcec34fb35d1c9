// Package observe is the independent view: what every node of the target says
// of itself, asked over connections that the load does not use. It knows
// nothing of the load, of AWS, or of what the answers are good for.
//
//  1. A round asks all nodes at once, one goroutine and one connection a node,
//     one pipeline each: ROLE, INFO and, once a second in a cluster, CLUSTER
//     NODES. A node that has not answered by the timeout is down in this round.
//  2. The answers say which nodes there are (roster.go): the union of all
//     CLUSTER NODES, or what the ROLE of the seeds names. Nodes heard of for the
//     first time are asked in the same round, if time is left.
//  3. The round's answers become samples (report.go): one for each node,
//     however many addresses lead to it, with a replica's lag behind its primary.
//  4. Watch compares each round with the one before and tells the differences
//     as events (changes.go).
//  5. The Probe (probe.go) looks at the topology in this way once a second, and
//     asks each node 50 times a second for its role and for a canary: SET on a
//     primary, GET on primaries and replicas (subject.go). Beside that it makes
//     fresh connections through the endpoints (door.go). What was answered is
//     counted in buckets of 10 ms (cells.go); who became what is told (roles.go).
//
// Commands used: HELLO, AUTH, ROLE, INFO, CLUSTER NODES. None of them touches a
// key, so that the servers' counts of data commands are the load's alone. The
// Probe uses SET, GET, READONLY, ASKING and PING, too, which no ranking does.
package observe

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

const (
	// defaultTimeout is far above a healthy answer (under 10 ms) and below the
	// second at which samples are written.
	defaultTimeout = 500 * time.Millisecond
	// viewEvery is how old the answers to CLUSTER NODES may become. Their size
	// is the square of the number of nodes, and the cluster itself gossips once a second.
	viewEvery = time.Second
	// keepFor is how long a node that left the topology is still asked and shown.
	keepFor = time.Minute
	// maxHops bounds how often nodes just heard of are asked in the same round:
	// seed replica, its primary, the primary's other replicas.
	maxHops = 3
)

// Options say where to look and how.
type Options struct {
	Seeds []string // host:port: any node of a cluster; else the primary or any replica, by address or endpoint name
	// Cluster: nodes are found by CLUSTER NODES from any node. Otherwise by ROLE: a primary names its
	// replicas, a replica its primary.
	Cluster            bool
	Username, Password string
	// Credentials, if set, is asked at each connection instead (IAM tokens live for 15 minutes).
	Credentials func(context.Context) (username, password string, err error)
	TLS         *tls.Config              // nil is plain TCP
	Resolver    *net.Resolver            // asked for host names at each new connection; nil is the system's
	Name        func(addr string) string // a node's id for an address; "" or nil = the address
	Timeout     time.Duration            // per node and round; default 500 ms
	// RolesByProbe: Watch leaves role changes to a Probe that runs beside it.
	RolesByProbe bool
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Name == nil {
		o.Name = func(string) string { return "" }
	}
	return o
}

// Observer asks the nodes. It is safe for concurrent use; rounds run one after another.
type Observer struct {
	opt Options

	mu     sync.Mutex // held for a whole round
	roster roster
	closed bool
}

// New returns an Observer. It connects to nothing yet.
func New(o Options) *Observer {
	o = o.withDefaults()
	return &Observer{opt: o, roster: newRoster(o.Cluster, o.Seeds)}
}

// Sample asks every node once and returns one sample for each, sorted by ID, at
// the latest about a Timeout later. Now is the run's clock. A node that did not
// answer in time has Up false and Error: refused, timeout, reset, dns, tls,
// auth, loading, or what it said. A node that answers while it loads its data
// set is Up, with Error "loading". A node that left the topology stays for a
// minute. Driver is left nil.
func (o *Observer) Sample(ctx context.Context, now func() time.Duration) []result.NodeSample {
	return samplesOf(o.round(ctx, now))
}

// Close closes the connections. A round that runs ends first.
func (o *Observer) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	var errs []error
	for _, n := range o.roster.nodes {
		errs = append(errs, n.hangUp())
	}
	return errors.Join(errs...)
}

// aliases are the other addresses of nodes, to the one they are listed under.
func (o *Observer) aliases() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.roster.alias)
}

func (o *Observer) round(ctx context.Context, now func() time.Duration) []sighting {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.opt.Timeout)
	defer cancel()
	answers := o.askAll(ctx, now)
	o.roster.forget()
	return report(&o.roster, o.opt.Name, answers)
}

// askAll asks the known nodes, and then those that their answers tell of. In
// the first round nothing is known but the seeds, one of which may hang: they
// get half the time, so that the nodes they lead to have the other half.
func (o *Observer) askAll(ctx context.Context, now func() time.Duration) map[string]answer {
	views := o.roster.viewsDue(now())
	answers := map[string]answer{}
	first, cancel := o.firstBudget(ctx)
	defer cancel()
	budget := first
	for range maxHops {
		targets := o.roster.unasked(answers)
		if len(targets) == 0 || budget.Err() != nil {
			break
		}
		for _, a := range o.askEach(budget, now, targets, views) {
			answers[a.addr] = a
		}
		o.roster.learn(answers)
		budget = ctx
	}
	return answers
}

func (o *Observer) firstBudget(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.roster.onlySeeds() {
		return context.WithTimeout(ctx, o.opt.Timeout/2)
	}
	return ctx, func() {}
}

// askEach asks the nodes at once and returns when all have answered or ctx has ended.
func (o *Observer) askEach(ctx context.Context, now func() time.Duration, nodes []*node, view bool) []answer {
	answers := make([]answer, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { answers[i] = n.ask(ctx, o.opt, now, view) })
	}
	wg.Wait()
	return answers
}
