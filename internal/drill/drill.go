// Package drill runs the steps of a drill beside the load, which knows nothing of
// them and never stops for them. It knows neither AWS nor Redis: what a step does
// is an Action.
//
//  1. Run begins each step at its time, or when the one before it has recovered,
//     and watches it until it is done. A step that fails does not stop the others
//     that have a time of their own.
//  2. When all is over, or at the first ^C, Release lets go what holds up everything
//     else, and Restore puts back what the steps have changed, the last one first.
//
// Everything that happens is told as an event at once.
package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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
	Name     string
	At       time.Duration // offset from the run's start
	After    bool          // not At, but Delay after the step before has recovered
	Delay    time.Duration
	Holds    bool // what it does lasts until a later step or Release undoes it: when it is done, nothing has recovered
	Restores bool // there is something for Restore or Release to put back
	Action   Action
}

// Options of a drill.
type Options struct {
	Steps  []Step
	Settle time.Duration        // how long each step's end is waited for
	Over   <-chan struct{}      // closed when the load has ended: no step begins without it
	Now    func() time.Duration // offset from the run's start
	Tell   func(result.Event)   // from any goroutine
}

// Drill is a drill that runs. It is for one goroutine, but for Unrestored.
type Drill struct {
	o      Options
	failed []error

	mu      sync.Mutex
	started []*started // in order
}

// started is a step that has begun.
type started struct {
	Step
	tried    bool // to restore it
	restored bool
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
		switch err := d.waitFor(ctx, s); {
		case ctx.Err() != nil:
			return errors.Join(d.failed...)
		case err != nil:
			d.fail(i, s, err)
			recovered = false
			continue
		}
		recovered = d.step(ctx, i, s)
	}
	return errors.Join(d.failed...)
}

// waitFor waits for a step's time, which must be within the load's: a service that
// nobody uses tells nothing, and the step would break it all the same.
func (d *Drill) waitFor(ctx context.Context, s Step) error {
	at := s.At
	if s.After {
		at = d.o.Now() + s.Delay
	}
	timer := time.NewTimer(at - d.o.Now())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.o.Over:
	case <-ctx.Done():
	}
	select {
	case <-d.o.Over:
		return errors.New("not begun: the load was over before its turn came; give the load more time")
	default:
		return ctx.Err()
	}
}

// late is from when on it is said that a step comes after its time.
const late = time.Second

// step runs one step and tells whether it has recovered.
func (d *Drill) step(ctx context.Context, i int, s Step) bool {
	text := ""
	if by := d.o.Now() - s.At; !s.After && by > late {
		text = fmt.Sprintf(", %.1f s late: the step before it took so long", by.Seconds())
	}
	d.tell(s.Name, result.StepBegins, "step %d begins%s", i+1, text)
	d.begun(s)
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

func (d *Drill) begun(s Step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.started = append(d.started, &started{Step: s})
}

// Unrestored names the steps that have begun and are still to be restored.
func (d *Drill) Unrestored() (names []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.started {
		if s.Restores && !s.restored {
			names = append(names, s.Name)
		}
	}
	return names
}

func (d *Drill) fail(i int, s Step, err error) {
	d.failed = append(d.failed, fmt.Errorf("step %d, %s: %w", i+1, s.Name, err))
	d.tell(s.Name, "", "step %d failed: %v", i+1, err)
}

// Release restores the steps that hold: until then nothing can be healthy. The
// error joins what could not be restored.
func (d *Drill) Release(ctx context.Context) error {
	return d.restore(ctx, func(s Step) bool { return s.Holds })
}

// Restore puts back what the steps have changed, the last one first. The error
// joins what could not be restored.
func (d *Drill) Restore(ctx context.Context) error {
	return d.restore(ctx, func(Step) bool { return true })
}

func (d *Drill) restore(ctx context.Context, which func(Step) bool) error {
	var errs []error
	for _, s := range d.toRestore(which) {
		err := s.Action.Restore(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("step %s: %w", s.Name, err))
			d.tell(s.Name, "", "not restored: %v", err)
			continue
		}
		d.mu.Lock()
		s.restored = true
		d.mu.Unlock()
	}
	return errors.Join(errs...)
}

// toRestore are the steps that are meant and were not tried yet, the last one first.
func (d *Drill) toRestore(which func(Step) bool) (steps []*started) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range slices.Backward(d.started) {
		if which(s.Step) && !s.tried {
			s.tried = true
			steps = append(steps, s)
		}
	}
	return steps
}

func (d *Drill) tell(subject, kind, format string, args ...any) {
	d.o.Tell(result.Event{AtS: d.o.Now().Seconds(), Source: Source, Subject: subject, Message: fmt.Sprintf(format, args...), Kind: kind})
}
