package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rankbench/rankbench/internal/aws"
)

// eventsLate is how long after everything is healthy an event is waited for
// before it counts as one that will not come.
const eventsLate = 2 * time.Minute

// failover is TestFailover.
type failover struct {
	base
	old     string   // the primary that is taken down; "" where nobody says which it is
	members []string // of its shard
	called  time.Time
	healthy time.Time // since when all is well but for the event
}

func (f *failover) Start(ctx context.Context) error {
	g, err := f.AWS.Group(ctx, f.Group)
	if err != nil {
		return err
	}
	s, err := f.shard(g, f.step.NodeGroup)
	if err != nil {
		return err
	}
	f.members = members(s)
	switch ids := f.withRole(s, primary); {
	case len(ids) == 1:
		f.old = ids[0]
	case f.Nodes != nil:
		return fmt.Errorf("node group %s has %d primaries; it is not healthy", s.ID, len(ids))
	}
	call, err := f.call(ctx, func(ctx context.Context) (aws.Call, error) { return f.AWS.TestFailover(ctx, g.ID, s.ID) })
	f.called = call.At
	return err
}

func (f *failover) Settle(ctx context.Context) error { return f.poll(ctx, f.settled) }

func (f *failover) settled(ctx context.Context) error {
	said := f.Console.Has(f.called, func(x aws.Fact) bool {
		return x.Kind == aws.RecoveryFinished && (x.Node == f.old || f.old == "" && slices.Contains(f.members, x.Node))
	})
	if _, err := f.Env.healthy(ctx); err != nil {
		f.healthy = time.Time{}
		return err
	}
	if n := f.byID()[f.old]; f.Nodes != nil && n.Role != replica {
		return fmt.Errorf("%s is still the primary", f.old)
	}
	return f.patience(said, "the end of the recovery of "+f.old)
}

func members(s aws.Shard) []string {
	var ids []string
	for _, m := range s.Members {
		ids = append(ids, m.ID)
	}
	return ids
}

// patience wants the event, and does without it once all has been well for long.
func (f *failover) patience(said bool, what string) error {
	switch {
	case said:
		return nil
	case f.healthy.IsZero():
		f.healthy = time.Now()
	case time.Since(f.healthy) > eventsLate:
		f.Note("no event has told of %s; the nodes say that it is over", what)
		return nil
	}
	return errors.New("no event has told of " + what)
}
