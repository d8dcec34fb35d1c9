package observe

import (
	"cmp"
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

const (
	// defaultEvery is often enough to see a role change to 50 ms: half of it, a
	// late timer and the round trip are well below.
	defaultEvery = 20 * time.Millisecond
	// defaultProbeTimeout is far above a healthy answer. A node that takes longer
	// is as good as down for a ranking.
	defaultProbeTimeout = 100 * time.Millisecond
	defaultConnectEvery = 200 * time.Millisecond
	// lookEvery is how often the probe looks which nodes there are.
	lookEvery = time.Second
)

// ProbeOptions say what the probe asks, and how often.
type ProbeOptions struct {
	// Key is the canary: a key of the probe's own in the hash slot of the ranking, never the ranking itself.
	Key          string
	Every        time.Duration // between questions to one node; default 20 ms
	Timeout      time.Duration // of one question, connecting included; default 100 ms
	ConnectEvery time.Duration // between fresh connections to one endpoint; default 200 ms
	Endpoints    []Endpoint    // those a service would connect to; none: no fresh connections
}

func (o ProbeOptions) withDefaults() ProbeOptions {
	o.Every = positive(o.Every, defaultEvery)
	o.Timeout = positive(o.Timeout, defaultProbeTimeout)
	o.ConnectEvery = positive(o.ConnectEvery, defaultConnectEvery)
	return o
}

func positive(d, or time.Duration) time.Duration { return cmp.Or(max(d, 0), or) }

// Endpoint is an address that a service connects to. Name is its cell's:
// connect_primary for the primary endpoint, which must lead to a primary;
// connect_reader for the reader endpoint; connect for a configuration endpoint, a
// seed or a single server. Endpoints of one name share a cell.
type Endpoint struct {
	Name string
	Addr string // host:port
}

// Probe asks whether the service can serve, independently of the load. What it
// found is taken with Cut; Run tells role changes and moved names as they happen.
type Probe struct {
	opt   Options // of the probe's connections, with its own timeout
	ask   ProbeOptions
	look  *Observer // looks which nodes there are
	token string    // the canary's value

	cells *cells
	roles *roles
	asks  asks
}

// NewProbe returns a Probe. It connects to nothing yet. Of o it takes where to
// look and how to log in; o.Timeout bounds only its looks at the topology.
func NewProbe(o Options, p ProbeOptions) *Probe {
	o, p = o.withDefaults(), p.withDefaults()
	look := New(o)
	o.Timeout = p.Timeout
	return &Probe{
		opt: o, ask: p, look: look, token: rand.Text(),
		cells: newCells(p.Endpoints),
		roles: newRoles(o.Cluster, o.Name),
	}
}

// Run probes until ctx ends, and returns when all that it has started has ended,
// at most a timeout later. Now is the run's clock. Tell is given each event at
// once, one at a time, from goroutines of Run; it must not block. Run may be
// called once.
func (p *Probe) Run(ctx context.Context, now func() time.Duration, tell func(result.Event)) {
	p.roles.tellTo(tell)
	var endpoints sync.WaitGroup
	defer endpoints.Wait()
	for _, e := range p.ask.Endpoints {
		d := newDoor(p, e, now)
		endpoints.Go(func() { each(ctx, p.ask.ConnectEvery, d.knock) })
	}
	c := crew{probe: p, now: now, stops: map[string]context.CancelFunc{}}
	defer c.wg.Wait()
	each(ctx, lookEvery, func(ctx context.Context) { c.match(ctx, p.listed(ctx, now)) })
}

// Cut returns what was asked since the last Cut: always the cells write, read
// and read_primary and one for each name of an endpoint, in this order.
func (p *Probe) Cut() []result.ProbeCell { return p.cells.cut() }

// Close closes the connections that look at the topology. All others end with Run.
func (p *Probe) Close() error { return p.look.Close() }

// listed looks at the topology and returns the addresses that it names, but for
// an endpoint that leads nowhere: the reader's does where there is no replica.
func (p *Probe) listed(ctx context.Context, now func() time.Duration) (addrs []string) {
	seen := p.look.round(ctx, now)
	p.roles.know(p.look.aliases())
	for _, s := range seen {
		if nowhere := s.Error == "dns" && p.roles.of(s.Addr) == silent; s.listed && !nowhere {
			addrs = append(addrs, s.Addr)
		}
	}
	return addrs
}

// each calls do at once and then at each tick, until ctx ends. Ticks that it
// misses are not made up for.
func each(ctx context.Context, every time.Duration, do func(context.Context)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		do(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// crew keeps one goroutine for each node. Only Run's goroutine touches it.
type crew struct {
	probe *Probe
	now   func() time.Duration
	wg    sync.WaitGroup
	stops map[string]context.CancelFunc // by address
}

// match begins with the addresses that are new and ends with those that are no
// longer named. A look that was cut short changes nothing.
func (c *crew) match(ctx context.Context, addrs []string) {
	if over(ctx) {
		return
	}
	gone := c.stops
	c.stops = map[string]context.CancelFunc{}
	for _, addr := range addrs {
		if stop, ok := gone[addr]; ok {
			c.stops[addr] = stop
			delete(gone, addr)
			continue
		}
		c.stops[addr] = c.begin(ctx, addr)
	}
	for _, stop := range gone {
		stop()
	}
}

func (c *crew) begin(ctx context.Context, addr string) context.CancelFunc {
	ctx, cancel := context.WithCancel(ctx)
	c.wg.Go(func() {
		s := &subject{probe: c.probe, addr: addr, now: c.now}
		each(ctx, c.probe.ask.Every, s.question)
		s.hangUp()
		c.probe.roles.forget(addr)
	})
	return cancel
}
