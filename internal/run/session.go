package run

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/rankbench/rankbench/internal/audit"
	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/expose"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/live"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/observe"
	"github.com/rankbench/rankbench/internal/plan"
	"github.com/rankbench/rankbench/internal/populate"
	"github.com/rankbench/rankbench/internal/progress"
	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/self"
	"github.com/rankbench/rankbench/internal/target"
)

// session is one run of load, from the first connection to the last line.
type session struct {
	o        Options
	plan     *plan.Plan
	client   *target.Client
	observer *observe.Observer
	sampler  *self.Sampler
	addrs    listeners
	exporter *expose.Exporter // nil without --metrics-addr
	live     *live.Page       // nil without --live
	drilling *drilling        // nil without steps
	probe    *observe.Probe   // likewise
	ledger   *audit.Ledger    // nil where Sets are not audited
	fresh    bool             // the ranking was filled for this run
	folder   *result.Folder
	start    time.Time // offset 0
	engine   *load.Engine

	mu       sync.Mutex // guards nodes, the folder's events, and the follower
	follower *progress.Follower
	nodes    []result.NodeSample // not yet written, in order
	newest   []result.NodeSample
	failed   error // first failure to write
	later    bool  // something waits to be written, and that was said

	pauses  self.Pauses
	lines   chan func(io.Writer) error // to be printed
	printed chan struct{}              // closed when all are

	background sync.WaitGroup
	stop       context.CancelFunc // of the background
	shown      sync.WaitGroup     // the live page
	stopLive   context.CancelFunc
	endConsole func() // a drill's
}

// listeners are the addresses that a run answers on; nil where it does not.
type listeners struct{ metrics, live net.Listener }

func listen(o Options) (l listeners, err error) {
	if o.Metrics != "" {
		if l.metrics, err = expose.Listen(o.Metrics); err != nil {
			return l, fail.WithHint(err, "choose another --metrics-addr; port 0 is any free one")
		}
	}
	if o.Live != "" {
		if l.live, err = live.Listen(o.Live); err != nil {
			return l, errors.Join(fail.WithHint(err, "choose another --live; port 0 is any free one"), l.close())
		}
	}
	return l, nil
}

func (l listeners) close() (err error) {
	for _, ln := range []net.Listener{l.metrics, l.live} {
		if ln != nil {
			err = errors.Join(err, ln.Close())
		}
	}
	return err
}

// open takes the addresses that the run answers on, and then does all that begins
// it: an address that is in use is told before a ranking is filled or a file written.
func open(ctx context.Context, o Options, pl *plan.Plan) (*session, error) {
	l, err := listen(o)
	if err != nil {
		return nil, err
	}
	s, err := begin(ctx, o, pl, l)
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return s, nil
}

// begin connects, checks everything that can be checked beforehand, fills the
// ranking if asked to, and writes run.json.
func begin(ctx context.Context, o Options, pl *plan.Plan, addrs listeners) (*session, error) {
	server, err := check(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, w := range server.Warnings {
		o.Notes.Note("warning: %s", w)
	}
	var d *drilling
	if o.AWS != nil {
		if d, err = preflight(ctx, &o, server); err != nil {
			return nil, err
		}
	}
	fresh := false
	if o.Populate {
		var warning []string
		if fresh, warning, err = fillNoted(ctx, o, pl); err != nil {
			return nil, err
		}
		server.Warnings = append(server.Warnings, warning...)
	}
	client, err := target.Open(o.Config, o.Scenario.Ranking.Key, needOf(pl))
	if err != nil {
		return nil, err
	}
	s := &session{o: o, plan: pl, client: client, addrs: addrs, drilling: d, fresh: fresh}
	if err := s.prepare(ctx, server); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return s, nil
}

// fillNoted fills the ranking where it is not right; fresh tells that it did.
func fillNoted(ctx context.Context, o Options, pl *plan.Plan) (fresh bool, warnings []string, err error) {
	r, err := fillRanking(ctx, o, pl, false)
	if err != nil {
		return false, nil, err
	}
	if !r.AlreadyRight {
		o.Notes.Note("filled %q: %d members in %.1f s (%.0f/s)", o.Scenario.Ranking.Key, r.Members, r.Seconds, r.MembersPerSec)
	}
	if r.Replicas < r.ReplicasWanted {
		warnings = append(warnings, fmt.Sprintf("only %d of %d replicas have all members: reads may miss some", r.Replicas, r.ReplicasWanted))
		o.Notes.Note("warning: %s", warnings[0])
	}
	return !r.AlreadyRight, warnings, nil
}

func (s *session) prepare(ctx context.Context, server target.Server) error {
	if err := populate.Check(ctx, s.client.Store(), s.plan.Ranking); err != nil {
		return err
	}
	if err := s.client.Warm(ctx); err != nil {
		return err
	}
	var err error
	if s.sampler, err = self.New(); err != nil {
		return fmt.Errorf("watch the own process: %w", err)
	}
	if s.observer, err = newObserver(s.o); err != nil {
		return err
	}
	if err := s.prepareDrill(ctx); err != nil {
		return err
	}
	s.start = time.Now()
	s.engine = &load.Engine{Start: s.start, Classify: target.Classify}
	run := describe(s.o, server, s.client.Effective(), self.Host(), s.start)
	if d := s.drilling; d != nil {
		g := d.target.Group
		run.Config["aws"] = map[string]any{"region": d.target.Place.Region, "replication_group": g.ID, "node_type": g.NodeType, "engine": g.Engine + " " + g.EngineVersion}
	}
	if s.folder, err = result.Create(s.o.Out, run); err != nil {
		return err
	}
	return s.startBackground(run)
}

func newObserver(o Options) (*observe.Observer, error) {
	opt, err := observeOptions(o)
	if err != nil {
		return nil, err
	}
	return observe.New(opt), nil
}

func observeOptions(o Options) (observe.Options, error) {
	t := o.Config.Target
	secret, err := t.Secret()
	if err != nil {
		return observe.Options{}, err
	}
	var tc *tls.Config
	if tc, err = target.TLSConfig(t.TLS); err != nil {
		return observe.Options{}, err
	}
	return observe.Options{
		Seeds: seeds(t), Cluster: t.Mode == config.Cluster, Username: t.Username, Password: secret, TLS: tc, Name: o.NodeName,
		Resolver: target.Resolver(t.Resolver), RolesByProbe: o.AWS != nil,
	}, nil
}

func seeds(t config.Target) []string {
	if t.Mode != config.Endpoints {
		return t.Addresses
	}
	if t.Reader == "" {
		return []string{t.Primary}
	}
	return []string{t.Primary, t.Reader}
}

// needOf is what the phase with the most workers asks of the driver's pools.
func needOf(pl *plan.Plan) target.Need {
	var n target.Need
	for _, p := range pl.Phases {
		n.Workers = max(n.Workers, p.Workers())
		finds := 0
		for _, j := range p.Jobs {
			if j.Kind.Pipelines() {
				finds += j.Workers
			}
		}
		n.FindWorkers = max(n.FindWorkers, finds)
	}
	return n
}

// startBackground starts what runs beside the load: the observer, the endpoint for
// Prometheus, the live page, and a drill's probe and steps.
func (s *session) startBackground(run result.Run) error {
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.lines, s.printed = make(chan func(io.Writer) error, waitingLines), make(chan struct{})
	go s.print()
	s.follower = progress.New(run, s.planned())
	if s.addrs.metrics != nil {
		s.expose(ctx)
	}
	if s.addrs.live != nil {
		s.show(run)
	}
	s.background.Go(func() { s.observer.Watch(ctx, cutEvery, s.now, s.keepNodes, s.event) })
	s.background.Go(func() { s.pauses.Watch(ctx, s.now) })
	if s.probe != nil {
		s.background.Go(func() { s.probe.Run(ctx, s.now, s.event) })
	}
	return nil
}

// waitingLines is how many intervals may wait for a screen that has been
// stopped (^S), before the cuts wait, too.
const waitingLines = 1000

// print writes the lines of the intervals, beside the cuts: a screen that does
// not take them must not keep the intervals from the disk.
// Nor must one that has gone away, as `head` does, end the run.
func (s *session) print() {
	defer close(s.printed)
	gone := false
	for line := range s.lines {
		if gone {
			continue
		}
		err := line(s.o.Lines)
		if gone = errors.Is(err, syscall.EPIPE); !gone {
			s.keep(err)
		}
	}
}

func (s *session) expose(ctx context.Context) {
	s.exporter = expose.New(expose.Info{
		Version: s.o.Versions["rankbench"], Scenario: s.o.Scenario.Name, OutageThreshold: s.o.Scenario.OutageThreshold,
		Phases: phasesOf(s.o.Scenario),
	})
	s.o.Notes.Note("metrics on http://%s/metrics", s.addrs.metrics.Addr())
	s.background.Go(func() {
		if err := s.exporter.Serve(ctx, s.addrs.metrics); err != nil {
			s.o.Notes.Note("warning: %v", err)
		}
	})
}

func (s *session) now() time.Duration { return time.Since(s.start) }

func (s *session) keepNodes(nodes []result.NodeSample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes, s.newest = append(s.nodes, nodes...), slices.Clone(nodes)
}

// newestNodes are the newest samples, also those that are written already.
func (s *session) newestNodes() []result.NodeSample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// takeNodes returns the samples since it was last called, with the driver's
// counters added to the newest of each node.
func (s *session) takeNodes() []result.NodeSample {
	s.mu.Lock()
	nodes := s.nodes
	s.nodes = nil
	s.mu.Unlock()
	return s.withDriver(nodes)
}

// withDriver adds the driver's counters to the nodes. An endpoint that is no
// node's address (a DNS name) gets a row of its own.
func (s *session) withDriver(nodes []result.NodeSample) []result.NodeSample {
	drivers := s.client.Drivers()
	for i, n := range slices.Backward(nodes) {
		if d, ok := drivers[n.Addr]; ok {
			nodes[i].Driver = &d
			delete(drivers, n.Addr)
		}
	}
	if len(nodes) == 0 {
		return nil
	}
	for _, addr := range slices.Sorted(maps.Keys(drivers)) {
		if d := drivers[addr]; d.Attempts > 0 {
			nodes = append(nodes, result.NodeSample{AtS: nodes[len(nodes)-1].AtS, ID: addr, Addr: addr, Up: true, Role: "endpoint", Driver: &d})
		}
	}
	return nodes
}

func (s *session) event(e result.Event) {
	if s.drilling != nil {
		s.lines <- report.EventEntry(e, s.o.AWS.Group).Line
	}
	if s.live != nil {
		s.live.Event(e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follower.Event(e)
	s.keepError(s.folder.Event(e))
}

// keepError keeps the first failure to write, under mu: it makes the run end
// with an error, but not before everything that can still be done is done.
func (s *session) keepError(err error) {
	if errors.Is(err, result.ErrLater) {
		if !s.later {
			s.o.Notes.Note("warning: %v", err)
		}
		s.later = true
		return
	}
	if err != nil && s.failed == nil {
		s.failed = err
		s.o.Notes.Note("warning: %v; the run goes on, its results are not complete", err)
	}
}

func (s *session) keep(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keepError(err)
}

// run runs the phases in sequence.
func (s *session) run(ctx context.Context) {
	s.startSteps(ctx)
	for i, ph := range s.plan.Phases {
		if ctx.Err() != nil {
			break
		}
		s.runPhase(ctx, i, ph)
	}
}

// close ends the background, writes the last line and closes everything.
func (s *session) close(ctx context.Context) (*result.RunEnd, error) {
	end := s.end(ctx)
	s.tellStatusEnds()
	s.stop()
	s.background.Wait()
	close(s.lines)
	<-s.printed
	now := s.now().Seconds()
	s.write(result.Interval{FromS: now, ToS: now, Phase: -1, Probe: s.takeProbe(), End: end})
	err := errors.Join(s.failed, s.folder.Close(), s.observer.Close(), s.client.Close())
	if s.probe != nil {
		err = errors.Join(err, s.probe.Close())
	}
	return end, err
}

// write appends a line to the intervals, and shows it to who looks on.
func (s *session) write(iv result.Interval) {
	s.keep(s.folder.Interval(iv))
	if s.exporter != nil {
		s.exporter.Interval(iv)
	}
	if s.live != nil {
		s.live.Interval(iv)
	}
	s.tellStatus(iv)
}
