package populate

import (
	"context"
	"fmt"
	"math"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/ranking"
)

// sample is how many members are looked at.
const sample = 1000

// verify counts the members and looks at a sample of them: each must be there,
// with exactly its score where the ranking was just filled, with a possible
// one where a load may have changed it.
func verify(ctx context.Context, s Store, r *ranking.Ranking, fresh bool) (sampled int, err error) {
	n, err := s.Card(ctx)
	if err != nil {
		return 0, fmt.Errorf("count %q: %w", r.Key, err)
	}
	if n != r.Members {
		return 0, fmt.Errorf("verify %q: it has %d members, not %d: does somebody else write to it, or did the server evict?", r.Key, n, r.Members)
	}
	members, want := pick(r, sample)
	got, ok, err := s.Scores(ctx, members)
	if err != nil {
		return 0, fmt.Errorf("verify %q: %w", r.Key, err)
	}
	for i, m := range members {
		switch {
		case !ok[i]:
			return 0, fmt.Errorf("verify %q: member %q is not there", r.Key, m)
		case fresh && got[i] != want[i]:
			return 0, fmt.Errorf("verify %q: member %q has the score %v, not %v", r.Key, m, got[i], want[i])
		case !possible(r, got[i]):
			return 0, fmt.Errorf("verify %q: member %q has the score %v, which is none of 0 … %d", r.Key, m, got[i], r.ScoreSpread-1)
		}
	}
	return len(members), nil
}

func possible(r *ranking.Ranking, score float64) bool {
	return score >= 0 && score < float64(r.ScoreSpread) && score == math.Trunc(score)
}

// pick takes up to n members evenly over the positions, first and last included.
func pick(r *ranking.Ranking, n int64) (members []string, scores []float64) {
	n = min(n, r.Members)
	for i := range n {
		pos := r.Members - 1
		if n > 1 {
			pos = i * (r.Members - 1) / (n - 1) // below 2^43: n is at most sample
		}
		id, score := r.At(pos)
		members = append(members, string(r.AppendMember(nil, id)))
		scores = append(scores, score)
	}
	return members, scores
}

// Check says whether the ranking can be loaded: filled completely, with these
// parameters. It changes nothing. The order of filling is of no account.
func Check(ctx context.Context, s Store, r *ranking.Ranking) error {
	marker, err := s.Marker(ctx)
	if err != nil {
		return fmt.Errorf("read the marker: %w", err)
	}
	if len(marker) == 0 {
		return checkUnmarked(ctx, s, r)
	}
	if diff := unlike(marker, identity(r)); diff != "" {
		return fail.WithHint(fmt.Errorf("load %q: it holds another ranking: %s", r.Key, diff),
			"use the scenario it was filled for, another ranking.key, or fill it again with `rankbench populate --force`")
	}
	if marker[fieldState] != stateComplete {
		return fail.WithHint(fmt.Errorf("load %q: it is not completely filled", r.Key), "let `rankbench populate` go on with it")
	}
	_, err = verify(ctx, s, r, false)
	if err != nil {
		return fail.WithHint(err, "fill it again with `rankbench populate --force`")
	}
	return nil
}

func checkUnmarked(ctx context.Context, s Store, r *ranking.Ranking) error {
	kind, err := s.Type(ctx)
	if err != nil {
		return fmt.Errorf("look at %q: %w", r.Key, err)
	}
	if kind != "none" {
		return foreign(r.Key, kind)
	}
	return fail.WithHint(fmt.Errorf("load %q: there is no such ranking", r.Key),
		"fill it first with `rankbench populate` and the same scenario and config, or add --populate")
}
