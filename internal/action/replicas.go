package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/scenario"
)

// replicas is IncreaseReplicaCount and DecreaseReplicaCount.
type replicas struct {
	base
	called time.Time
	want   map[string]int // replicas by shard, afterwards
	before map[string]int // those that are put back; nil before Start
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
	r.before, r.want = counts(g), counts(g)
	r.expect(g, to)
	call, err := r.call(ctx, func(ctx context.Context) (aws.Call, error) {
		if r.step.Kind == scenario.IncreaseReplicas {
			return r.AWS.IncreaseReplicas(ctx, g.ID, to)
		}
		return r.AWS.DecreaseReplicas(ctx, g.ID, to)
	})
	r.called = call.At
	return err
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

func (r *replicas) Settle(ctx context.Context) error {
	refused := errRefused{}
	err := r.poll(ctx, func(ctx context.Context) error {
		if refused.why = r.refused(); refused.why != "" {
			return nil
		}
		return r.reached(ctx, r.want)
	})
	if refused.why != "" {
		return refused
	}
	return err
}

// errRefused is what an event tells: the call itself was accepted.
type errRefused struct{ why string }

func (e errRefused) Error() string { return "refused: " + e.why }

// refused is what ElastiCache says where it removes no primary, or "".
func (r *replicas) refused() string {
	for _, x := range r.Console.Since(r.called) {
		switch x.Fact.Kind {
		case aws.DecreaseRefused, aws.DecreaseFailed, aws.IncreaseFailed:
			return x.Event.Message
		}
	}
	return ""
}

// reached wants a healthy group with so many replicas in each shard.
func (e Env) reached(ctx context.Context, want map[string]int) error {
	g, err := e.healthy(ctx)
	if err != nil {
		return err
	}
	return differ(counts(g), want)
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
	var g aws.Group
	err := r.poll(ctx, func(ctx context.Context) (err error) {
		g, err = r.healthy(ctx) // a call would be refused while something goes on
		return err
	})
	if err != nil {
		return fmt.Errorf("put the replicas back (%s): %w", written(r.before), err)
	}
	if differ(counts(g), r.before) == nil {
		return nil
	}
	r.Note("putting the replicas back: %s", written(r.before))
	return r.restoreFrom(ctx, counts(g))
}

// restoreFrom makes the calls that lead back: of what is too much and too little
// each has its own.
func (r *replicas) restoreFrom(ctx context.Context, has map[string]int) error {
	more, fewer := map[string]int{}, map[string]int{}
	for id, n := range r.before {
		if now, there := has[id]; there && now < n {
			more[id] = n
		} else if there && now > n {
			fewer[id] = n
		}
	}
	for _, c := range []struct {
		to map[string]int
		do func(context.Context, string, aws.Replicas) (aws.Call, error)
	}{{more, r.AWS.IncreaseReplicas}, {fewer, r.AWS.DecreaseReplicas}} {
		if len(c.to) == 0 {
			continue
		}
		_, err := r.call(ctx, func(ctx context.Context) (aws.Call, error) {
			return c.do(ctx, r.Group, aws.Replicas{PerShard: c.to})
		})
		if err == nil {
			err = r.poll(ctx, func(ctx context.Context) error { return r.reached(ctx, c.to) })
		}
		if err != nil {
			return fmt.Errorf("put the replicas back (%s): %w", written(r.before), err)
		}
	}
	return nil
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
