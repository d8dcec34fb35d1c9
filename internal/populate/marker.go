package populate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/ranking"
)

// Fields of the marker. Those of identity say which ranking it is; the others
// how far the fill came.
const (
	fieldVersion        = "version"
	fieldState          = "state" // stateFilling, stateComplete
	fieldNext           = "next"  // positions below it have arrived
	fieldDatasetBefore  = "dataset_before"
	fieldBytesPerMember = "bytes_per_member"

	stateFilling  = "filling"
	stateComplete = "complete"
)

// markerVersion changes when the same parameters give other members or scores.
const markerVersion = "1"

// identity is what two rankings must have in common to be the same.
func identity(r *ranking.Ranking) map[string]string {
	return map[string]string{
		fieldVersion:    markerVersion,
		"members":       strconv.FormatInt(r.Members, 10),
		"score_spread":  strconv.FormatInt(r.ScoreSpread, 10),
		"member_format": r.MemberFormat,
		"seed":          strconv.FormatUint(r.Seed, 10),
	}
}

// orderOf is kept beside the identity: it changes the layout in memory only.
func orderOf(o Options) string {
	if o.Random {
		return "random"
	}
	return "ascending"
}

// state is how far a ranking is.
type state struct {
	complete       bool
	next           int64 // resume here
	datasetBefore  uint64
	bytesPerMember float64
}

// inspect decides what to do, and clears what is to be filled anew.
func inspect(ctx context.Context, s Store, o Options) (state, error) {
	marker, err := s.Marker(ctx)
	if err != nil {
		return state{}, fmt.Errorf("read the marker: %w", err)
	}
	if len(marker) == 0 {
		return inspectUnmarked(ctx, s, o)
	}
	if err := inspectType(ctx, s, o.Ranking.Key); err != nil {
		return state{}, err
	}
	diff := difference(marker, o)
	switch {
	case o.Force:
		return startAnew(ctx, s, o)
	case diff != "":
		return state{}, fail.WithHint(fmt.Errorf("fill %q: it holds another ranking: %s", o.Ranking.Key, diff),
			"use the scenario it was filled for, another ranking.key, or --force to fill it again")
	case marker[fieldState] == stateComplete:
		return inspectComplete(ctx, s, o, marker)
	default:
		return resume(ctx, s, o, marker)
	}
}

func difference(marker map[string]string, o Options) string {
	want := identity(o.Ranking)
	want["order"] = orderOf(o)
	return unlike(marker, want)
}

// unlike lists in what a marker differs, "" if in nothing.
func unlike(marker, want map[string]string) string {
	var diff []string
	for _, f := range slices.Sorted(maps.Keys(want)) {
		if marker[f] != want[f] {
			diff = append(diff, fmt.Sprintf("%s is %s, not %s", f, orNone(marker[f]), want[f]))
		}
	}
	return strings.Join(diff, ", ")
}

func orNone(s string) string {
	if s == "" {
		return "not set"
	}
	return s
}

// inspectUnmarked: a key without a marker is somebody else's, whatever --force says.
func inspectUnmarked(ctx context.Context, s Store, o Options) (state, error) {
	kind, err := s.Type(ctx)
	if err != nil {
		return state{}, fmt.Errorf("look at %q: %w", o.Ranking.Key, err)
	}
	if kind != "none" {
		return state{}, foreign(o.Ranking.Key, kind)
	}
	return begin(ctx, s, o)
}

// inspectType: a marker does not make ours what is no sorted set: ours was
// removed, and somebody has taken its name.
func inspectType(ctx context.Context, s Store, key string) error {
	kind, err := s.Type(ctx)
	if err != nil {
		return fmt.Errorf("look at %q: %w", key, err)
	}
	if kind != "none" && kind != "zset" {
		return foreign(key, kind)
	}
	return nil
}

func foreign(key, kind string) error {
	return fail.WithHint(fmt.Errorf("use %q: there is a %s of that name which rankbench did not make", key, kind),
		"choose another ranking.key; rankbench never overwrites a key that it did not make")
}

// inspectComplete: complete, unless members were removed or added since.
func inspectComplete(ctx context.Context, s Store, o Options, marker map[string]string) (state, error) {
	n, err := s.Card(ctx)
	if err != nil {
		return state{}, fmt.Errorf("count %q: %w", o.Ranking.Key, err)
	}
	switch {
	case n < o.Ranking.Members:
		return startAnew(ctx, s, o) // evicted, flushed, or lost in a failover
	case n > o.Ranking.Members:
		return state{}, fail.WithHint(fmt.Errorf("fill %q: it has %d members, more than the %d it was filled with", o.Ranking.Key, n, o.Ranking.Members),
			"somebody else writes to it: choose another ranking.key, or --force to fill it again")
	}
	bytes, _ := strconv.ParseFloat(marker[fieldBytesPerMember], 64)
	return state{complete: true, bytesPerMember: bytes}, nil
}

func resume(ctx context.Context, s Store, o Options, marker map[string]string) (state, error) {
	next, err := strconv.ParseInt(marker[fieldNext], 10, 64)
	if err != nil || next < 0 || next > o.Ranking.Members {
		return startAnew(ctx, s, o)
	}
	n, err := s.Card(ctx)
	if err != nil {
		return state{}, fmt.Errorf("count %q: %w", o.Ranking.Key, err)
	}
	if n < next {
		return startAnew(ctx, s, o) // what had arrived is gone
	}
	used, _ := strconv.ParseUint(marker[fieldDatasetBefore], 10, 64)
	return state{next: next, datasetBefore: used}, nil
}

func startAnew(ctx context.Context, s Store, o Options) (state, error) {
	if err := s.Clear(ctx); err != nil {
		return state{}, fmt.Errorf("clear %q: %w", o.Ranking.Key, err)
	}
	return begin(ctx, s, o)
}

// begin writes the marker before the first member, so that whatever happens
// the key is known as rankbench's.
func begin(ctx context.Context, s Store, o Options) (state, error) {
	used, err := s.DatasetMemory(ctx)
	if err != nil {
		return state{}, fmt.Errorf("read used_memory_dataset: %w", err)
	}
	m := identity(o.Ranking)
	m["order"] = orderOf(o)
	m[fieldState], m[fieldNext] = stateFilling, "0"
	m[fieldDatasetBefore] = strconv.FormatUint(used, 10)
	if err := s.SetMarker(ctx, m); err != nil {
		return state{}, fmt.Errorf("write the marker: %w", err)
	}
	return state{datasetBefore: used}, nil
}

func progressFields(next int64) map[string]string {
	return map[string]string{fieldNext: strconv.FormatInt(next, 10)}
}

func completeFields(bytesPerMember float64) map[string]string {
	return map[string]string{
		fieldState:          stateComplete,
		fieldBytesPerMember: strconv.FormatFloat(bytesPerMember, 'f', 2, 64),
	}
}
