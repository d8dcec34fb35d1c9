package run

import (
	"context"
	"errors"
	"fmt"
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
	nodes := observer.Sample(ctx, func() time.Duration { return 0 })
	d := &drilling{done: make(chan struct{}), names: names}
	d.env = action.Env{
		AWS: o.AWS.Client, Group: o.AWS.Group, Slot: server.Slot, Pid: o.AWS.Pid,
		Nodes: func() []result.NodeSample { return nodes }, Undo: o.Scenario.Drill.Settle,
	}
	if d.target, err = action.Preflight(ctx, d.env, o.AWS.Config, o.Scenario.Drill.Steps); err != nil {
		return nil, err
	}
	d.env.Every = o.AWS.every(d.target.Place)
	return d, o.AWS.Confirm(d.target, d.env.Roles())
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
	d.drill = drill.New(drill.Options{Steps: steps, Settle: s.o.Scenario.Drill.Settle, Now: s.now, Tell: s.event})
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
		steps = append(steps, drill.Step{Name: st.Kind, At: st.At, After: st.After == scenario.Recovered, Delay: st.Delay, Holds: st.Kind == scenario.Hang, Action: a})
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

// endDrill waits for the steps, restores what they changed, reads the ledger
// back, and says what came of it. An interrupt ends the steps, not the rest.
func (s *session) endDrill(ctx context.Context, end *result.RunEnd) {
	d := s.drilling
	if d == nil {
		return
	}
	s.idle(d.done)
	if d.failed != nil {
		end.FailedSteps = lines(d.failed)
	}
	if err := d.drill.Restore(context.WithoutCancel(ctx)); err != nil {
		end.NotRestored = lines(err)
	}
	s.endConsole()
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

// lines are the messages of joined errors.
func lines(err error) []string {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []string{err.Error()}
	}
	var out []string
	for _, e := range joined.Unwrap() {
		out = append(out, e.Error())
	}
	return out
}

// readBack reads the ledger's members from the primary.
func (s *session) readBack(ctx context.Context, end *result.RunEnd) {
	if s.ledger == nil {
		return
	}
	client, err := target.Open(patient(s.o.Config), s.o.Scenario.Ranking.Key, target.Need{Workers: auditConnections})
	if err == nil {
		defer client.Close()
		var r audit.Report
		if r, err = s.ledger.Check(context.WithoutCancel(ctx), client.Store(), audit.Options{Connections: auditConnections}); err == nil {
			end.Audit = &r
			return
		}
	}
	end.Warnings = append(end.Warnings, fmt.Sprintf("acknowledged writes could not be read back: %v", err))
}

// auditConnections read the ledger back: as many as the server's one thread can use.
const auditConnections = 4
