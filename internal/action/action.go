// Package action does what the steps of a drill ask for: operations of
// ElastiCache, and on local targets signals to the processes of nodes. It knows
// the control plane (package aws) and, through Env, what the nodes say of
// themselves; it knows nothing of the load, nor of other steps.
//
//  1. Preflight says what will be changed where, and refuses what would break a
//     cluster that is not healthy, or not meant.
//  2. New makes the action of a step. Start asks for it, once; Settle watches
//     until it is done; Restore puts back what Start changed.
//  3. Console reads the events of ElastiCache meanwhile, and tells each once.
//
// An operation is done when the console says so, the group and all its members
// are available, and the nodes themselves agree: never by a status alone, which
// ElastiCache shows as available in the middle of a failover. Events may come
// late or not at all; what the nodes say is then enough after a while.
package action

import (
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
}

// New makes the action of a step.
func New(s scenario.Step, e Env) (Action, error) {
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
		return &wait{length: s.For}, nil
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
}

// Restore is that of actions which change nothing for good.
func (base) Restore(context.Context) error { return nil }

// poll looks until check is content, which is nil or an error that says what is
// still missing. Of an error of AWS that is not going to pass, retry tells.
func (e Env) poll(ctx context.Context, check func(context.Context) error) error {
	tick := time.NewTicker(e.Every)
	defer tick.Stop()
	for {
		err := check(ctx)
		var lasting *aws.Error
		if err == nil || errors.As(err, &lasting) && !lasting.Transient() {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// call makes a call that changes something. Where it is not known whether AWS has
// received it, traces of it are looked for; it is never repeated.
func (e Env) call(ctx context.Context, do func(context.Context) (aws.Call, error)) (aws.Call, error) {
	call, err := do(ctx)
	var unclear *aws.Ambiguous
	if !errors.As(err, &unclear) {
		return call, err
	}
	e.Note("%v; looking for traces of it", err)
	ctx, cancel := context.WithTimeout(ctx, confirmWithin)
	defer cancel()
	confirmed := e.poll(ctx, func(ctx context.Context) error {
		switch happened, err := e.AWS.Confirm(ctx, call); {
		case err != nil:
			return err
		case !happened:
			return errors.New("no trace of it in the events or the group")
		}
		return nil
	})
	if confirmed != nil {
		return call, errors.Join(err, confirmed)
	}
	return call, nil
}

// confirmWithin is how late AWS's events are waited for.
const confirmWithin = 3 * time.Minute
