package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/control"
	"github.com/rankbench/rankbench/internal/local/keep"
	"github.com/rankbench/rankbench/internal/local/state"
)

// runLocalKeep keeps what is up, and ends it then.
func runLocalKeep(ctx context.Context, stderr io.Writer) error {
	s, err := readLocal()
	if err != nil {
		return err
	}
	sources, err := keepSources(s, stderr)
	if err != nil {
		return err
	}
	dir := state.KeptPath(localFolder)
	k, err := keep.Save(ctx, dir, sources, stderr, func() error { return checkStill(s) })
	if err != nil {
		return fail.WithHint(err, "nothing was ended; see `rankbench local status`, or end it without --keep")
	}
	fmt.Fprintf(stderr, "kept %d keys of %d groups in %s; `rankbench local up --restore` brings them back\n", k.Keys(), len(k.Groups), dir)
	return state.End(ctx, localFolder)
}

// keepSources says how each group is read.
func keepSources(s state.State, stderr io.Writer) ([]keep.Source, error) {
	groups, err := keepable(s)
	if err != nil {
		return nil, fail.WithHint(err, "nothing was ended; wait until it is over, or end all without --keep")
	}
	if len(groups) == 0 {
		return nil, fail.WithHint(errors.New("keep: there is no replication group"), "`rankbench local down` without --keep ends it")
	}
	sources := make([]keep.Source, len(groups))
	var errs []error
	for i, g := range groups {
		l, err := loginOf(s, g)
		if err != nil {
			errs = append(errs, fmt.Errorf("keep %s: %w", g.ID, err))
		}
		sources[i] = keep.Source{Group: g, Nodes: s.NodesOf(g.ID), Password: l.password, TLS: l.tls}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fail.WithHint(err, "nothing was ended; delete such groups through the API, or end all without --keep")
	}
	tellLost(stderr, s)
	return sources, nil
}

// keepable finds the groups to keep, and fails while something goes on with one.
func keepable(s state.State) ([]state.Group, error) {
	var groups []state.Group
	var errs []error
	for _, g := range s.Groups {
		switch {
		case lost(g):
		case g.Busy != "":
			errs = append(errs, fmt.Errorf("keep %s: %s goes on", g.ID, g.Busy))
		case g.Status != control.Available:
			errs = append(errs, fmt.Errorf("keep %s: it is %s", g.ID, g.Status))
		default:
			groups = append(groups, g)
		}
	}
	return groups, errors.Join(errs...)
}

// lost tells whether g is on its way out, or has never come up.
func lost(g state.Group) bool { return g.Status == control.Deleting || g.Status == control.Failed }

// tellLost says what is not kept.
func tellLost(w io.Writer, s state.State) {
	for _, g := range s.Groups {
		if lost(g) {
			fmt.Fprintf(w, "group %s is not kept: it is %s\n", g.ID, g.Status)
		}
	}
}

// checkStill fails if what was to be kept is no longer as it was before.
func checkStill(before state.State) error {
	now, err := state.Read(localFolder)
	if err != nil {
		return fmt.Errorf("keep: %w", err)
	}
	return compareStates(before, now)
}

// compareStates fails if, between the two, an operation has begun or nodes have
// changed: slots and keys may have moved.
func compareStates(before, now state.State) error {
	was, _ := keepable(before) // without an error: that is why we are here
	is, err := keepable(now)
	if err != nil {
		return err
	}
	same := func(a, b state.Group) bool {
		return a.ID == b.ID && slices.Equal(before.NodesOf(a.ID), now.NodesOf(b.ID))
	}
	if now.Owner != before.Owner || !slices.EqualFunc(was, is, same) {
		return errors.New("keep: groups or their nodes have changed meanwhile")
	}
	return nil
}
