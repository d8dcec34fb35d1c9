package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/aws"
)

// failover is TestFailover.
type failover struct {
	base
	old     string   // the primary that is taken down; "" where nobody says which it is
	members []string // of its shard
	called  Mark
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
	if f.old, err = f.primaryOf(ctx, s); err != nil {
		return err
	}
	f.called = f.Console.Mark()
	_, err = f.call(ctx, func(ctx context.Context) (aws.Call, error) { return f.AWS.TestFailover(ctx, g.ID, s.ID) })
	return err
}

// primaryOf is the primary of a shard. With cluster mode enabled ElastiCache does
// not say which it is: "" where the nodes are not asked.
func (e Env) primaryOf(ctx context.Context, s aws.Shard) (id string, err error) {
	if e.Nodes == nil {
		return strings.Join(e.withRole(s, primary), ""), nil
	}
	err = soon(ctx, func() error {
		ids := e.withRole(s, primary)
		if len(ids) != 1 {
			return fmt.Errorf("node group %s has %d primaries; it is not healthy", s.ID, len(ids))
		}
		id = ids[0]
		return nil
	})
	return id, err
}

func (f *failover) Settle(ctx context.Context) error { return f.poll(ctx, f.settled) }

func (f *failover) settled(ctx context.Context) error {
	said := f.Console.Has(f.called, func(x aws.Fact) bool {
		return x.Kind == aws.RecoveryFinished && (x.Node == f.old || f.old == "" && slices.Contains(f.members, x.Node))
	})
	g, err := f.healthy(ctx)
	if err == nil {
		err = f.succeeded(g, said)
	}
	if err != nil {
		f.calm.end()
		return err
	}
	return f.patience(said, "of the end of the recovery of "+cmp.Or(f.old, "a node"))
}

// succeeded wants another primary in the place of the old one. Where nobody says
// who that is, only the event tells a failover that is over from one that has not begun.
func (f *failover) succeeded(g aws.Group, said bool) error {
	if f.old == "" && !said {
		return errors.New("no event has told of the end of a recovery, and the nodes are not asked")
	}
	for _, s := range g.Shards {
		if slices.Contains(f.withRole(s, primary), f.old) {
			return fmt.Errorf("%s is still the primary", f.old)
		}
	}
	return nil
}

func members(s aws.Shard) []string {
	var ids []string
	for _, m := range s.Members {
		ids = append(ids, m.ID)
	}
	return ids
}
