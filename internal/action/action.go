// Package action does what the steps of a drill ask for: operations of
// ElastiCache, and on local targets signals to the processes of nodes. It knows
// the control plane (package aws) and, through Env, what the nodes say of
// themselves; it knows nothing of the load, nor of other steps.
//
//  1. Preflight says what will be changed where, and refuses what would break a
//     cluster that is not healthy, or not meant.
//  2. New makes the action of a step. Start asks for it, once; Settle watches
//     until it is done; Restore puts back what Start changed.
//  3. Console reads the events of ElastiCache meanwhile, and tells each once; Names
//     learns which addresses are whose, where nothing else tells.
//
// An operation is done when the console says so, the group and all its members
// are available, and the nodes themselves agree: never by a status alone, which
// ElastiCache shows as available in the middle of a failover. Events may come
// late or not at all; what the nodes say is then enough after a while.
package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/scenario"
)

// Action is one step's.
type Action interface {
	Start(ctx context.Context) error
	Settle(ctx context.Context) error
	Restore(ctx context.Context) error
}

// Env is what actions work with.
type Env struct {
	AWS     *aws.Client
	Group   string // replication group id
	Slot    int    // of the ranking's key; -1 without cluster mode
	Console *Console
	Nodes   func() []result.NodeSample    // what all nodes last said; nil where they are not asked
	Pid     func(id string) int           // of a local node's process, 0 where it has none; nil where targets are not local
	Note    func(format string, a ...any) // of the step, for the timeline
	Every   time.Duration                 // between two looks at AWS
	Late    time.Duration                 // how late an event may be; 0 = some minutes
	Undo    time.Duration                 // how long Restore may take; 0 = 45 minutes
}

// New makes the action of a step.
func New(s scenario.Step, e Env) (Action, error) {
	a, err := newAction(s, e)
	if err == nil && s.Expect == scenario.Refused {
		a = &refusal{Action: a, note: e.Note}
	}
	return a, err
}

func newAction(s scenario.Step, e Env) (Action, error) {
	b := base{Env: e, step: s}
	switch s.Kind {
	case scenario.TestFailover:
		return &failover{base: b}, nil
	case scenario.IncreaseReplicas, scenario.DecreaseReplicas:
		return &replicas{base: b}, nil
	case scenario.AddShards, scenario.RemoveShards:
		return &shards{base: b}, nil
	case scenario.Reboot:
		return &reboot{base: b}, nil
	case scenario.Wait:
		return &wait{base: b}, nil
	case scenario.Kill, scenario.Hang, scenario.Resume:
		if e.Pid == nil {
			return nil, fmt.Errorf("%s: only the nodes of a local ElastiCache have processes here", s.Kind)
		}
		return &process{base: b}, nil
	}
	return nil, fmt.Errorf("%s: no such step", s.Kind)
}

// base is what all actions have.
type base struct {
	Env
	step scenario.Step
	calm lull // since when all is well but for an event
}

// Restore is that of actions which change nothing for good.
func (*base) Restore(context.Context) error { return nil }

const (
	// eventsLate is how long after everything is healthy an event is waited for
	// before it counts as one that will not come.
	eventsLate = 2 * time.Minute
	// confirmWithin is how long traces of a call are looked for.
	confirmWithin = 3 * time.Minute
	// undoWithin is longer than anything that field reports tell of took.
	undoWithin = 45 * time.Minute
	// answerWithin is for a call that changes something: above the limits that
	// package aws has for a connection and for an answer.
	answerWithin = 90 * time.Second
)

// patience wants an event, and does without it once all has been well for long.
func (b *base) patience(said bool, what string) error {
	switch {
	case said:
		return nil
	case b.calm.lasts(cmp.Or(b.Late, eventsLate)):
		b.Note("no event has told %s; everything is healthy all the same", what)
		return nil
	}
	return errors.New("no event has told " + what)
}

// undo bounds a Restore, whose context has no end of its own.
func (b *base) undo(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, cmp.Or(b.Undo, undoWithin))
}

// call makes a call that changes something. An interrupt keeps it from being sent,
// but does not cut its answer off: that would make a doubt of it. Where it is not
// known whether AWS has received it, traces of it are looked for; it is never
// repeated.
func (e Env) call(ctx context.Context, do func(context.Context) (aws.Call, error)) (aws.Call, error) {
	if err := ctx.Err(); err != nil {
		return aws.Call{}, fmt.Errorf("nothing was asked for: %w", err)
	}
	sent, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	call, err := do(sent)
	if !doubtful(err) {
		return call, err
	}
	e.Note("%v; looking for traces of it", err)
	if none := e.confirm(ctx, call); none != nil {
		return call, fmt.Errorf("%w; %w", err, none)
	}
	e.Note("%s has happened", call.Name)
	return call, nil
}

func doubtful(err error) bool {
	var unclear *aws.Ambiguous
	return errors.As(err, &unclear)
}

// confirm looks for traces of a call for as long as AWS's events may be late.
func (e Env) confirm(ctx context.Context, call aws.Call) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(e.Late, confirmWithin))
	defer cancel()
	return e.poll(ctx, func(ctx context.Context) error {
		switch happened, err := e.AWS.Confirm(ctx, call); {
		case err != nil:
			return err
		case !happened:
			return errors.New("no trace of it in the events or the group")
		}
		return nil
	})
}

// busy is the code of a refusal because something goes on already.
const busy = "InvalidReplicationGroupState"

// whenHealthy waits until everything is healthy, and then makes the call that next
// chooses; nil is none. A call that is refused because something goes on all the
// same, which a status need not show, is made again later: it has done nothing.
func (e Env) whenHealthy(ctx context.Context, next func(aws.Group) func(context.Context) (aws.Call, error)) error {
	return e.poll(ctx, func(ctx context.Context) error {
		g, err := e.healthy(ctx)
		if err != nil {
			return err
		}
		do := next(g)
		if do == nil {
			return nil
		}
		_, err = e.call(ctx, do)
		switch {
		case err == nil:
			return nil
		case aws.Code(err) == busy && !doubtful(err):
			return errors.New(err.Error()) // not the code, of which poll would say that it lasts
		}
		return final{err}
	})
}
