package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rankbench/rankbench/internal/action"
	"github.com/rankbench/rankbench/internal/audit"
	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/drill"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/observe"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/scenario"
	"github.com/rankbench/rankbench/internal/target"
)

// drilling is what a drill has beside the load.
type drilling struct {
	target action.Target
	env    action.Env
	names  *action.Names
	drill  *drill.Drill

	console sync.WaitGroup // the reading of events, which outlives the steps
	over    chan struct{}  // closed when the load has ended
	done    chan struct{}  // closed when the last step has ended
	failed  error          // of steps; set before done is closed
}

// preflight looks at where a drill goes, has it confirmed, and refuses it or not.
// From then on o names nodes as ElastiCache does.
func preflight(ctx context.Context, o *Options, server target.Server) (*drilling, error) {
	names := action.NewNames(o.AWS.Client, o.AWS.Group, target.Resolver(o.Config.Target.Resolver))
	if err := names.Learn(ctx); err != nil {
		return nil, err
	}
	o.NodeName = namedBy(o.NodeName, names)
	observer, err := newObserver(*o)
	if err != nil {
		return nil, err
	}
	defer observer.Close() //nolint:errcheck // nothing is written through it
	nodes := allUp(ctx, observer)
	d := &drilling{over: make(chan struct{}), done: make(chan struct{}), names: names}
	d.env = action.Env{
		AWS: o.AWS.Client, Group: o.AWS.Group, Slot: server.Slot, Pid: o.AWS.Pid,
		Nodes: func() []result.NodeSample { return nodes }, Undo: o.Scenario.Drill.Settle,
	}
	if d.target, err = action.Preflight(ctx, d.env, o.AWS.Config, o.Scenario.Drill.Steps, o.Scenario.Drill.Repeat-o.Repeat); err != nil {
		return nil, err
	}
	d.env.Every = o.AWS.every(d.target.Place)
	return d, o.AWS.Confirm(ctx, d.target, d.env.Roles())
}

// upWithin is for a node that is well to answer, on a host that is busy.
const upWithin = 3 * time.Second

// allUp asks all nodes, again for a while where one does not answer.
func allUp(ctx context.Context, o *observe.Observer) []result.NodeSample {
	began := time.Now()
	tick := time.NewTicker(upWithin / 10)
	defer tick.Stop()
	for {
		nodes := o.Sample(ctx, func() time.Duration { return time.Since(began) })
		down := slices.ContainsFunc(nodes, func(n result.NodeSample) bool { return !n.Up || n.Role == "replica" && n.Link != "up" })
		if !down || ctx.Err() != nil || time.Since(began) > upWithin {
			return nodes
		}
		<-tick.C
	}
}

// prepareDrill makes what a drill and an audit need before anything is sent.
func (s *session) prepareDrill(ctx context.Context) (err error) {
	if s.o.Scenario.Audit {
		if s.ledger, err = audit.New(s.plan.Ranking, s.now); err != nil {
			return err
		}
	}
	if s.drilling == nil {
		return nil
	}
	if s.probe, err = newProbe(s.o); err != nil {
		return err
	}
	d := s.drilling
	d.env.Nodes = s.newestNodes
	if _, err := s.steps(); err != nil { // whether all of them can be made
		return err
	}
	d.env.Console = action.NewConsole(d.env.AWS, d.target.Group, s.offset, s.event, s.noteDrill(""))
	return d.env.Console.Prime(ctx)
}

// startSteps starts the reading of events and the steps.
func (s *session) startSteps(ctx context.Context) {
	d := s.drilling
	if d == nil {
		return
	}
	steps, _ := s.steps() // prepareDrill has made them before
	d.drill = drill.New(drill.Options{Steps: steps, Settle: s.o.Scenario.Drill.Settle, Over: d.over, Now: s.now, Tell: s.event})
	if s.o.Unrestored != nil {
		s.o.Unrestored(d.drill.Unrestored)
	}
	console, stop := context.WithCancel(context.WithoutCancel(ctx))
	d.console.Go(func() { d.env.Console.Run(console, d.env.Every) })
	d.console.Go(func() { d.names.Run(console, learnEvery) })
	go func() {
		defer close(d.done)
		d.failed = d.drill.Run(ctx)
	}()
	s.endConsole = func() {
		stop()
		d.console.Wait()
	}
}

// audited enters what a worker sends into the ledger, if there is one.
func (s *session) audited(t load.Target) load.Target {
	if s.ledger == nil {
		return t
	}
	return s.ledger.Wrap(t, target.Classify)
}

func (s *session) steps() ([]drill.Step, error) {
	var steps []drill.Step
	for _, st := range s.o.Scenario.Drill.Steps {
		env := s.drilling.env
		env.Note = s.noteDrill(st.Kind)
		a, err := action.New(st, env)
		if err != nil {
			return nil, err
		}
		holds := st.Kind == scenario.Hang
		steps = append(steps, drill.Step{
			Name: st.Kind, At: st.At, After: st.After == scenario.Recovered, Delay: st.Delay,
			Holds: holds, Restores: holds || st.Restore, Action: a,
		})
	}
	return steps, nil
}

func (s *session) noteDrill(subject string) func(string, ...any) {
	return func(format string, args ...any) {
		s.event(result.Event{AtS: s.now().Seconds(), Source: drill.Source, Subject: subject, Message: fmt.Sprintf(format, args...)})
	}
}

// offset is a time of AWS as seconds since the run's start.
func (s *session) offset(t time.Time) float64 {
	off, within, ok := s.drilling.env.AWS.Skew()
	if !ok || off.Abs() <= within {
		off = 0 // the clocks agree, as far as can be told
	}
	return t.Sub(s.start).Seconds() - off.Seconds()
}

// newProbe makes the independent probe of a drill.
func newProbe(o Options) (*observe.Probe, error) {
	op, err := observeOptions(o)
	if err != nil {
		return nil, err
	}
	t := o.Config.Target
	p := observe.ProbeOptions{Key: canary(o.Scenario.Ranking.Key)}
	switch {
	case t.Mode != config.Endpoints:
		p.Endpoints = []observe.Endpoint{{Name: "connect", Addr: t.Addresses[0]}}
	default:
		p.Endpoints = append(p.Endpoints, observe.Endpoint{Name: "connect_primary", Addr: t.Primary})
		if t.Reader != "" {
			p.Endpoints = append(p.Endpoints, observe.Endpoint{Name: "connect_reader", Addr: t.Reader})
		}
	}
	return observe.NewProbe(op, p), nil
}

// canary is the probe's own key, in the slot of the ranking.
func canary(key string) string { return ranking.MarkerKey(key) + "-probe" }

// end waits for the steps, reads the ledger back, restores what the steps changed,
// and says what came of it. An interrupt ends the steps, not the rest.
func (s *session) end(ctx context.Context) *result.RunEnd {
	end := &result.RunEnd{}
	d := s.drilling
	if d == nil {
		s.readBack(ctx, end)
		end.Interrupted = ctx.Err() != nil
		return end
	}
	close(d.over)
	s.beside(func() { <-d.done })
	end.FailedSteps = lines(d.failed)
	s.beside(func() {
		told := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(told)
			s.tellRestoring()
		})
		defer func() {
			if !stop() {
				<-told // it writes a line
			}
		}()
		rest := context.WithoutCancel(ctx)
		held := d.drill.Release(rest)
		s.readBack(ctx, end)
		end.NotRestored = append(lines(held), lines(d.drill.Restore(rest))...)
	})
	s.endConsole()
	if off, within, ok := d.env.AWS.Skew(); ok {
		end.AWSClock = &result.Skew{OffsetS: off.Seconds(), WithinS: within.Seconds()}
	}
	end.Interrupted = ctx.Err() != nil
	return end
}

// tellRestoring says what goes on after an interrupt, where that may take a while.
func (s *session) tellRestoring() {
	if names := s.drilling.drill.Unrestored(); len(names) > 0 {
		s.noteDrill("")("interrupted; restoring %s, which may take minutes; ^C again leaves it as it is", strings.Join(names, ", "))
	}
}

// beside does something that takes its time while lines are written.
func (s *session) beside(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	s.idle(done)
}

// idle writes a line a second until done is closed: the load is over, and what the
// steps have begun is not.
func (s *session) idle(done <-chan struct{}) {
	tick := time.NewTicker(cutEvery)
	defer tick.Stop()
	for from := s.now(); ; {
		ended := false
		select {
		case <-tick.C:
		case <-done:
			ended = true
		}
		now := s.now()
		self := s.selfSample(now, nil)
		s.write(result.Interval{FromS: from.Seconds(), ToS: now.Seconds(), Phase: -1, Nodes: s.takeNodes(), Probe: s.takeProbe(), Self: &self})
		if from = now; ended {
			return
		}
	}
}

// takeProbe returns what the probe has seen since the last cut.
func (s *session) takeProbe() []result.ProbeCell {
	if s.probe == nil {
		return nil
	}
	return s.probe.Cut()
}

// lines are the messages of errors that errors.Join has joined, none of nil.
func lines(err error) (out []string) {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []string{err.Error()}
	}
	for _, e := range joined.Unwrap() {
		out = append(out, e.Error())
	}
	return out
}

// readBack reads the ledger's members from the primary. After an interrupt there may
// be none for a while: it waits until there is, as long as a step's end is waited for,
// though for minutes at most once the run is interrupted.
func (s *session) readBack(ctx context.Context, end *result.RunEnd) {
	if s.ledger == nil {
		return
	}
	err := s.readBackOnce(context.WithoutCancel(ctx), end)
	if err != nil && s.drilling != nil {
		within := s.o.Scenario.Drill.Settle
		if ctx.Err() != nil {
			within = min(within, readBackInterrupted)
		}
		s.noteDrill("")("acknowledged writes cannot be read back yet: %v; trying again for up to %v", err, within)
		err = s.readBackLater(ctx, end, within)
	}
	if err != nil {
		end.Warnings = append(end.Warnings, fmt.Sprintf("acknowledged writes could not be read back: %v", err))
	}
}

// readBackInterrupted is longer than practitioners saw a group without a primary.
const readBackInterrupted = 3 * time.Minute

func (s *session) readBackLater(ctx context.Context, end *result.RunEnd, limit time.Duration) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		<-tick.C
		err := s.readBackOnce(within, end)
		if err == nil || within.Err() != nil {
			return err
		}
	}
}

func (s *session) readBackOnce(ctx context.Context, end *result.RunEnd) error {
	client, err := target.Open(patient(s.o.Config), s.o.Scenario.Ranking.Key, target.Need{Workers: auditConnections})
	if err != nil {
		return err
	}
	defer client.Close()
	r, err := s.ledger.Check(ctx, client.Store(), audit.Options{Connections: auditConnections, Fresh: s.fresh})
	if err == nil {
		end.Audit = &r
	}
	return err
}

// auditConnections read the ledger back: as many as the server's one thread can use.
const auditConnections = 4
