package action

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/aws"
)

// shards is ModifyReplicationGroupShardConfiguration.
type shards struct {
	base
	before []string // ids; nil before Start
}

func (s *shards) Start(ctx context.Context) error {
	g, err := s.AWS.Group(ctx, s.Group)
	if err != nil {
		return err
	}
	change := aws.ShardChange{Count: s.step.Count, Remove: s.step.Nodes}
	if n := len(g.Shards); change.Count < n && len(change.Remove) == 0 {
		for _, sh := range g.Shards[change.Count:] { // the last ones, as they would be added
			change.Remove = append(change.Remove, sh.ID)
		}
	}
	s.before = shardIDs(g)
	_, err = s.call(ctx, func(ctx context.Context) (aws.Call, error) { return s.AWS.ModifyShards(ctx, g.ID, change) })
	return err
}

func shardIDs(g aws.Group) []string {
	var ids []string
	for _, s := range g.Shards {
		ids = append(ids, s.ID)
	}
	return ids
}

func (s *shards) Settle(ctx context.Context) error { return s.poll(ctx, s.reached(s.step.Count)) }

// reached wants a healthy group with so many shards, all of which have slots.
func (e Env) reachedShards(ctx context.Context, want int) error {
	g, err := e.healthy(ctx)
	if err != nil {
		return err
	}
	if len(g.Shards) != want {
		return fmt.Errorf("it has %d node groups, not %d", len(g.Shards), want)
	}
	for _, sh := range g.Shards {
		if sh.Slots == "" {
			return fmt.Errorf("node group %s has no slots yet", sh.ID)
		}
	}
	return nil
}

func (s *shards) reached(want int) func(context.Context) error {
	return func(ctx context.Context) error { return s.reachedShards(ctx, want) }
}

// Restore puts the number of shards back, if the step asks for it and it is not.
// Shards that were added go; in the place of those that were removed come new ones.
func (s *shards) Restore(ctx context.Context) error {
	if !s.step.Restore || s.before == nil {
		return nil
	}
	var g aws.Group
	err := s.poll(ctx, func(ctx context.Context) (err error) {
		g, err = s.healthy(ctx)
		return err
	})
	if err == nil && len(g.Shards) != len(s.before) {
		err = s.restoreFrom(ctx, g)
	}
	if err != nil {
		return fmt.Errorf("put the node groups back (%s): %w", strings.Join(s.before, ", "), err)
	}
	return nil
}

func (s *shards) restoreFrom(ctx context.Context, g aws.Group) error {
	change := aws.ShardChange{Count: len(s.before)}
	if len(g.Shards) > len(s.before) {
		change.Remove = slices.DeleteFunc(shardIDs(g), func(id string) bool { return slices.Contains(s.before, id) })
	}
	s.Note("putting the node groups back: %d", change.Count)
	if _, err := s.call(ctx, func(ctx context.Context) (aws.Call, error) { return s.AWS.ModifyShards(ctx, g.ID, change) }); err != nil {
		return err
	}
	return s.poll(ctx, s.reached(change.Count))
}
