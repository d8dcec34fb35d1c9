package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/rankbench/rankbench/internal/action"
	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/scenario"
	"github.com/rankbench/rankbench/internal/target"
)

// AWS is the replication group that is changed, and how.
type AWS struct {
	Client *aws.Client
	Config config.AWS
	Group  string
	Pid    func(id string) int // local: of a node's process; nil elsewhere
	// Confirm shows where it goes, and asks the user where that is needed.
	Confirm func(context.Context, action.Target, []action.Role) error
}

// every is how often AWS is asked how far it is.
func (a AWS) every(p aws.Place) time.Duration {
	if p.Loopback {
		return 250 * time.Millisecond
	}
	return 5 * time.Second // below AWS's limits on calls that describe
}

// Operation is one operation of ElastiCache by itself, without load.
type Operation struct {
	AWS
	Step   scenario.Step
	Settle time.Duration
	Target *config.Config           // of the nodes, which are asked what they are; nil: only ElastiCache is
	Name   func(addr string) string // as Options.NodeName; what it does not know, ElastiCache is asked
	Out    io.Writer                // a line for each event
}

// Operate does one operation and watches it to its end.
func Operate(ctx context.Context, o Operation) error {
	start := time.Now()
	w := &watched{o: o, start: start}
	env := action.Env{AWS: o.Client, Group: o.Group, Slot: -1, Pid: o.Pid, Note: w.note, Every: o.every(aws.Place{})}
	stop, err := w.watchNodes(ctx, &env)
	if err != nil {
		return err
	}
	defer stop()
	t, err := action.Preflight(ctx, env, o.Config, []scenario.Step{o.Step}, 1)
	if t.Place.Endpoint != "" {
		env.Every = o.every(t.Place)
	}
	if err != nil {
		return err
	}
	if err := o.Confirm(ctx, t, env.Roles()); err != nil {
		return err
	}
	env.Console = action.NewConsole(o.Client, t.Group, w.offset, w.tell, w.note)
	if err := env.Console.Prime(ctx); err != nil {
		return err
	}
	console, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { env.Console.Run(console, env.Every) })
	err = w.do(ctx, env)
	cancel()
	wg.Wait()
	return err
}

// watched prints what happens.
type watched struct {
	o     Operation
	start time.Time

	mu    sync.Mutex
	nodes []result.NodeSample
}

func (w *watched) do(ctx context.Context, env action.Env) error {
	a, err := action.New(w.o.Step, env)
	if err != nil {
		return err
	}
	w.note("%s", w.o.Step.Kind)
	if err := a.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return fail.WithCode(fmt.Errorf("interrupted: %w", err), fail.CodeInterrupted)
		}
		return err
	}
	within, cancel := context.WithTimeout(ctx, w.o.Settle)
	defer cancel()
	err = a.Settle(within)
	switch {
	case err == nil:
		w.note("done: everything is healthy")
		return nil
	case ctx.Err() != nil:
		return fail.WithCode(errors.New("interrupted; what was asked for goes on at ElastiCache: see `rankbench events` and `rankbench describe`"), fail.CodeInterrupted)
	case within.Err() != nil:
		err = fmt.Errorf("not done within %v: %w", w.o.Settle, err)
	}
	return fail.WithHint(fmt.Errorf("%s: %w", w.o.Step.Kind, err), "`rankbench events` and `rankbench describe` show how far it is")
}

// learnEvery is how often ElastiCache is asked at most whose an address is.
const learnEvery = 3 * time.Second

// watchNodes asks all nodes what they are, once a second.
func (w *watched) watchNodes(ctx context.Context, env *action.Env) (stop func(), err error) {
	if w.o.Target == nil {
		return func() {}, nil
	}
	names := action.NewNames(w.o.Client, w.o.Group, target.Resolver(w.o.Target.Target.Resolver))
	if err := names.Learn(ctx); err != nil {
		return nil, err
	}
	observer, err := newObserver(Options{Config: w.o.Target, NodeName: namedBy(w.o.Name, names)})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	now := func() time.Duration { return time.Since(w.start) }
	w.keep(observer.Sample(ctx, now))
	var wg sync.WaitGroup
	wg.Go(func() { names.Run(ctx, learnEvery) })
	wg.Go(func() { observer.Watch(ctx, time.Second, now, w.keep, w.tell) })
	env.Nodes = w.said
	return func() {
		cancel()
		wg.Wait()
		_ = observer.Close() // nothing is written through it
	}, nil
}

// namedBy is the name that is given for an address, or else ElastiCache's.
func namedBy(given func(string) string, names *action.Names) func(string) string {
	return func(addr string) string {
		if given != nil {
			if id := given(addr); id != "" {
				return id
			}
		}
		return names.Of(addr)
	}
}

func (w *watched) keep(nodes []result.NodeSample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = nodes
}

func (w *watched) said() []result.NodeSample {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes
}

// offset is a time of AWS as seconds since the start by our clock.
func (w *watched) offset(t time.Time) float64 {
	off, within, ok := w.o.Client.Skew()
	if !ok || off.Abs() <= within {
		off = 0 // the clocks agree, as far as can be told
	}
	return (t.Sub(w.start) - off).Seconds()
}

func (w *watched) note(format string, args ...any) {
	w.tell(result.Event{AtS: time.Since(w.start).Seconds(), Source: "rankbench", Message: fmt.Sprintf(format, args...)})
}

func (w *watched) tell(e result.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.start.Add(time.Duration(e.AtS * float64(time.Second)))
	fmt.Fprintf(w.o.Out, "%s  %-11s  %-12s  %s\n", at.Format("15:04:05.0"), e.Source, e.Subject, e.Message)
}

// LookAt shows a group and, where there is a config of its nodes, what they say
// they are. It changes nothing.
func LookAt(ctx context.Context, a AWS, nodes *config.Config, name func(string) string) (action.Target, []action.Role, error) {
	w := &watched{o: Operation{AWS: a, Target: nodes, Name: name, Out: io.Discard}, start: time.Now()}
	env := action.Env{AWS: a.Client, Group: a.Group, Slot: -1}
	stop, err := w.watchNodes(ctx, &env)
	if err != nil {
		return action.Target{}, nil, err
	}
	defer stop()
	t, err := action.Look(ctx, env)
	return t, env.Roles(), err
}
