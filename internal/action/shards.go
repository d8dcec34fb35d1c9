package action

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/scenario"
)

// shards is ModifyReplicationGroupShardConfiguration.
type shards struct {
	base
	before []string // ids; nil unless Start has, or may have, changed them
}

func (s *shards) Start(ctx context.Context) error {
	g, err := s.AWS.Group(ctx, s.Group)
	if err != nil {
		return err
	}
	if err := direction(g, s.step); err != nil {
		return err
	}
	ids := shardIDs(g)
	change := aws.ShardChange{Count: s.step.Count, Remove: s.step.Nodes}
	if s.step.Kind == scenario.RemoveShards && len(change.Remove) == 0 {
		change.Remove = ids[change.Count:] // the last ones, as they would be added
	}
	_, err = s.call(ctx, s.change(change))
	if err == nil || doubtful(err) {
		s.before = ids
	}
	return err
}

// direction wants a step that adds node groups to have more afterwards, and one
// that removes them fewer: the call itself would do either.
func direction(g aws.Group, s scenario.Step) error {
	n := len(g.Shards)
	switch {
	case s.Kind == scenario.AddShards && s.Count > n, s.Kind == scenario.RemoveShards && s.Count < n:
		return nil
	}
	return fmt.Errorf("there are %d node groups now, and count says how many there shall be, which is %d", n, s.Count)
}

func (s *shards) change(to aws.ShardChange) func(context.Context) (aws.Call, error) {
	return func(ctx context.Context) (aws.Call, error) { return s.AWS.ModifyShards(ctx, s.Group, to) }
}

func shardIDs(g aws.Group) []string {
	var ids []string
	for _, s := range g.Shards {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	return ids
}

func (s *shards) Settle(ctx context.Context) error { return s.await(ctx, s.step.Count) }

// await wants a healthy group with so many shards, all of which have slots, until
// nothing goes on any more: that it failed, no event tells.
func (s *shards) await(ctx context.Context, want int) error {
	s.calm.end()
	return s.poll(ctx, func(ctx context.Context) error {
		g, err := s.healthy(ctx)
		if err != nil {
			s.calm.end()
			return err
		}
		missing := spread(g, want)
		if missing != nil && s.calm.lasts(cmp.Or(s.Late, eventsLate)) {
			return final{fmt.Errorf("nothing goes on any more: %w", missing)}
		}
		return missing
	})
}

func spread(g aws.Group, want int) error {
	if len(g.Shards) != want {
		return fmt.Errorf("there are %d node groups, not %d", len(g.Shards), want)
	}
	for _, sh := range g.Shards {
		if sh.Slots == "" {
			return fmt.Errorf("node group %s has no slots yet", sh.ID)
		}
	}
	return nil
}

// Restore puts the number of shards back, if the step asks for it and it is not.
// Shards that were added go; in the place of those that were removed come new ones.
func (s *shards) Restore(ctx context.Context) error {
	if !s.step.Restore || s.before == nil {
		return nil
	}
	ctx, cancel := s.undo(ctx)
	defer cancel()
	asked := false
	err := s.whenHealthy(ctx, func(g aws.Group) func(context.Context) (aws.Call, error) {
		if asked = len(g.Shards) != len(s.before); !asked {
			return nil
		}
		s.Note("putting the node groups back: %d", len(s.before))
		return s.change(s.back(g))
	})
	if err == nil && asked {
		err = s.await(ctx, len(s.before))
	}
	if err != nil {
		return fmt.Errorf("put the node groups back (%s): %w", strings.Join(s.before, ", "), err)
	}
	return nil
}

// back is the change that leads back.
func (s *shards) back(g aws.Group) aws.ShardChange {
	change := aws.ShardChange{Count: len(s.before)}
	if len(g.Shards) > len(s.before) {
		change.Remove = slices.DeleteFunc(shardIDs(g), func(id string) bool { return slices.Contains(s.before, id) })
	}
	return change
}
