package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/scenario"
)

// replicas is IncreaseReplicaCount and DecreaseReplicaCount.
type replicas struct {
	base
	called Mark
	want   map[string]int // replicas by shard, afterwards
	before map[string]int // those that are put back; nil unless Start has, or may have, changed them
}

func (r *replicas) Start(ctx context.Context) error {
	g, err := r.AWS.Group(ctx, r.Group)
	if err != nil {
		return err
	}
	to, err := r.wanted(g)
	if err != nil {
		return err
	}
	r.want = counts(g)
	r.expect(g, to)
	r.called = r.Console.Mark()
	_, err = r.call(ctx, r.change(r.step.Kind, to))
	if err == nil || doubtful(err) {
		r.before = counts(g)
	}
	return err
}

// change is the call of a kind of step.
func (r *replicas) change(kind string, to aws.Replicas) func(context.Context) (aws.Call, error) {
	return func(ctx context.Context) (aws.Call, error) {
		if kind == scenario.IncreaseReplicas {
			return r.AWS.IncreaseReplicas(ctx, r.Group, to)
		}
		return r.AWS.DecreaseReplicas(ctx, r.Group, to)
	}
}

// wanted is what the call asks for.
func (r *replicas) wanted(g aws.Group) (aws.Replicas, error) {
	if len(r.step.Nodes) > 0 {
		return aws.Replicas{Remove: r.step.Nodes}, nil
	}
	if r.step.NodeGroup == "" {
		return aws.Replicas{Count: &r.step.Count}, nil
	}
	s, err := r.shard(g, r.step.NodeGroup)
	return aws.Replicas{PerShard: map[string]int{s.ID: r.step.Count}}, err
}

// expect computes how many replicas each shard shall have.
func (r *replicas) expect(g aws.Group, to aws.Replicas) {
	for _, s := range g.Shards {
		switch n, named := to.PerShard[s.ID]; {
		case to.Count != nil:
			r.want[s.ID] = *to.Count
		case named:
			r.want[s.ID] = n
		}
		for _, m := range s.Members {
			if slices.Contains(to.Remove, m.ID) {
				r.want[s.ID]--
			}
		}
	}
}

// counts are the replicas of each shard.
func counts(g aws.Group) map[string]int {
	n := map[string]int{}
	for _, s := range g.Shards {
		n[s.ID] = len(s.Members) - 1
	}
	return n
}

func (r *replicas) Settle(ctx context.Context) error { return r.await(ctx, r.called, r.want) }

// await wants a healthy group with so many replicas in each shard, until
// ElastiCache says that it will not do that, or nothing goes on any more.
func (r *replicas) await(ctx context.Context, called Mark, want map[string]int) error {
	r.calm.end()
	return r.poll(ctx, func(ctx context.Context) error {
		if refused := r.refused(called); refused != nil {
			return final{refused}
		}
		g, err := r.healthy(ctx)
		if err != nil {
			r.calm.end()
			return err
		}
		missing := differ(counts(g), want)
		if missing != nil && r.calm.lasts(cmp.Or(r.Late, eventsLate)) {
			return final{fmt.Errorf("nothing goes on any more, and no event has told why: %w", missing)}
		}
		return missing
	})
}

// errRefused is what an event tells: the call itself was accepted.
type errRefused struct{ why string }

func (e errRefused) Error() string { return "refused: " + e.why }

// refused is what ElastiCache says where it does not do, or not all of, what it
// has accepted: it removes no primary.
func (r *replicas) refused(called Mark) error {
	for _, x := range r.Console.Since(called) {
		switch x.Fact.Kind {
		case aws.DecreaseRefused, aws.DecreaseFailed, aws.IncreaseFailed:
			return errRefused{x.Event.Message}
		}
	}
	return nil
}

func differ(has, want map[string]int) error {
	var errs []error
	for id, n := range want {
		if has[id] != n {
			errs = append(errs, fmt.Errorf("node group %s has %d replicas, not %d", id, has[id], n))
		}
	}
	return errors.Join(errs...)
}

// Restore puts the counts back, if the step asks for it and they are not.
func (r *replicas) Restore(ctx context.Context) error {
	if !r.step.Restore || r.before == nil {
		return nil
	}
	if g, err := r.AWS.Group(ctx, r.Group); err == nil && g.Available() == nil && differ(counts(g), r.before) == nil {
		return nil // whatever else is the matter with the nodes
	}
	ctx, cancel := r.undo(ctx)
	defer cancel()
	for _, kind := range []string{scenario.IncreaseReplicas, scenario.DecreaseReplicas} {
		if err := r.back(ctx, kind); err != nil {
			return fmt.Errorf("put the replicas back (%s): %w", written(r.before), err)
		}
	}
	return nil
}

// back leads the shards back that have too few replicas, or those that have too
// many: each way is a call of its own.
func (r *replicas) back(ctx context.Context, kind string) error {
	var to map[string]int
	var called Mark
	err := r.whenHealthy(ctx, func(g aws.Group) func(context.Context) (aws.Call, error) {
		if to = r.away(g, kind); len(to) == 0 {
			return nil
		}
		r.Note("putting the replicas back: %s", written(to))
		called = r.Console.Mark()
		return r.change(kind, aws.Replicas{PerShard: to})
	})
	if err != nil || len(to) == 0 {
		return err
	}
	return r.await(ctx, called, to)
}

// away are the shards from which a kind of call leads back.
func (r *replicas) away(g aws.Group, kind string) map[string]int {
	to, has := map[string]int{}, counts(g)
	for id, n := range r.before {
		now, there := has[id]
		if there && now != n && (now < n) == (kind == scenario.IncreaseReplicas) {
			to[id] = n
		}
	}
	return to
}

// written is "0001: 2, 0002: 2".
func written(counts map[string]int) string {
	var parts []string
	for id, n := range counts {
		parts = append(parts, fmt.Sprintf("%s: %d", id, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
