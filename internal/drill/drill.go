// Package drill runs the steps of a drill beside the load, which knows nothing of
// them and never stops for them. It knows neither AWS nor Redis: what a step does
// is an Action.
//
//  1. Run begins each step at its time, or when the one before it has recovered,
//     and watches it until it is done. A step that fails does not stop the others
//     that have a time of their own.
//  2. When all is over, or at the first ^C, Restore puts back what the steps have
//     changed: first what holds up others, then the last one first.
//
// Everything that happens is told as an event at once.
package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

// Action is what a step does. Each method is called at most once, in this order.
type Action interface {
	Start(ctx context.Context) error   // ask for it
	Settle(ctx context.Context) error  // watch until it is done; changes nothing
	Restore(ctx context.Context) error // put back what Start changed; safe whatever became of Start
}

// Step is one action and its time.
type Step struct {
	Name   string
	At     time.Duration // offset from the run's start
	After  bool          // not At, but Delay after the step before has recovered
	Delay  time.Duration
	Holds  bool // what it does lasts until a later step or Restore undoes it: when it is done, nothing has recovered
	Action Action
}

// Options of a drill.
type Options struct {
	Steps  []Step
	Settle time.Duration        // how long each step's end is waited for
	Now    func() time.Duration // offset from the run's start
	Tell   func(result.Event)   // from any goroutine
}

// Drill is a drill that runs. It is for one goroutine.
type Drill struct {
	o       Options
	started []Step // those to restore, in order
	failed  []error
}

// Source is that of a drill's own events.
const Source = "drill"

// New returns a drill that has not begun.
func New(o Options) *Drill { return &Drill{o: o} }

// Run runs all steps, and returns when the last one has recovered or failed, or
// ctx has ended. The error joins what went wrong with steps.
func (d *Drill) Run(ctx context.Context) error {
	recovered := true // the step before
	for i, s := range d.o.Steps {
		if s.After && !recovered {
			d.fail(i, s, errors.New("not begun: the step before it has not recovered"))
			continue
		}
		if !d.waitFor(ctx, s) {
			break
		}
		recovered = d.step(ctx, i, s)
	}
	return errors.Join(d.failed...)
}

func (d *Drill) waitFor(ctx context.Context, s Step) bool {
	at := s.At
	if s.After {
		at = d.o.Now() + s.Delay
	}
	timer := time.NewTimer(at - d.o.Now())
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// step runs one step and tells whether it has recovered.
func (d *Drill) step(ctx context.Context, i int, s Step) bool {
	d.tell(s.Name, result.StepBegins, "step %d begins", i+1)
	d.started = append(d.started, s)
	if err := s.Action.Start(ctx); err != nil {
		d.fail(i, s, err)
		return false
	}
	within, cancel := context.WithTimeout(ctx, d.o.Settle)
	defer cancel()
	switch err := s.Action.Settle(within); {
	case err == nil:
		kind := result.StepRecovered
		if s.Holds {
			kind = ""
		}
		d.tell(s.Name, kind, "step %d is done", i+1)
		return true
	case ctx.Err() != nil:
		d.tell(s.Name, "", "step %d was going on when the run was interrupted", i+1)
	case within.Err() != nil:
		d.fail(i, s, fmt.Errorf("not done within %v: %w", d.o.Settle, err))
	default:
		d.fail(i, s, err)
	}
	return false
}

func (d *Drill) fail(i int, s Step, err error) {
	d.failed = append(d.failed, fmt.Errorf("step %d, %s: %w", i+1, s.Name, err))
	d.tell(s.Name, "", "step %d failed: %v", i+1, err)
}

// Restore puts back what the steps have changed: what holds is let go before all
// else, since nothing is healthy until then; the rest follows, the last one first.
// The error joins what could not be restored.
func (d *Drill) Restore(ctx context.Context) error {
	var errs []error
	slices.Reverse(d.started)
	slices.SortStableFunc(d.started, func(a, b Step) int { return rank(a) - rank(b) })
	for _, s := range d.started {
		if err := s.Action.Restore(ctx); err != nil {
			errs = append(errs, fmt.Errorf("step %s: %w", s.Name, err))
			d.tell(s.Name, "", "not restored: %v", err)
		}
	}
	d.started = nil
	return errors.Join(errs...)
}

func rank(s Step) int {
	if s.Holds {
		return 0
	}
	return 1
}

func (d *Drill) tell(subject, kind, format string, args ...any) {
	d.o.Tell(result.Event{AtS: d.o.Now().Seconds(), Source: Source, Subject: subject, Message: fmt.Sprintf(format, args...), Kind: kind})
}
