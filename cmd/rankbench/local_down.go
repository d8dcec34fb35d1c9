package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/keep"
	"github.com/rankbench/rankbench/internal/local/state"
	"github.com/rankbench/rankbench/internal/target"
)

func newLocalDownCommand() *cobra.Command {
	var keeping bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End the local ElastiCache",
		Long: "Ends the local ElastiCache of this folder, or cleans up what a killed one has left.\n\n" +
			"With --keep it first writes the shape of all groups and all their keys to " + state.KeptPath(localFolder) + ",\n" +
			"in place of what was kept before, for `rankbench local up --restore`. Nothing should write\n" +
			"meanwhile. Not kept: ports, certificates, AUTH tokens, events and the history of metrics and calls.\n" +
			"If something cannot be kept, nothing is ended. Without --keep, what was kept before stays.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keeping {
				return runLocalKeep(cmd.Context(), cmd.ErrOrStderr())
			}
			return runLocalDown(cmd.Context(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().BoolVar(&keeping, "keep", false, "keep the groups and their keys for 'rankbench local up --restore'")
	return cmd
}

func runLocalDown(ctx context.Context, stderr io.Writer) error {
	if dir := state.KeptPath(localFolder); keep.Exists(dir) {
		fmt.Fprintf(stderr, "what was kept earlier stays in %s\n", dir)
	}
	err := state.End(ctx, localFolder)
	switch {
	case errors.Is(err, state.ErrNone):
		fmt.Fprintln(stderr, err)
		return nil
	case errors.Is(err, state.ErrStale):
		return cleanUp(stderr)
	}
	return err
}

// runLocalKeep keeps what is up, and ends it then.
func runLocalKeep(ctx context.Context, stderr io.Writer) error {
	s, err := readLocal()
	if err != nil {
		return err
	}
	sources, err := keepSources(s)
	if err != nil {
		return err
	}
	dir := state.KeptPath(localFolder)
	k, err := keep.Save(ctx, dir, sources, stderr)
	if err != nil {
		return fail.WithHint(err, "nothing was ended; see `rankbench local status`, or end it without --keep")
	}
	fmt.Fprintf(stderr, "kept %d keys of %d groups in %s; `rankbench local up --restore` brings them back\n", k.Keys(), len(k.Groups), dir)
	return state.End(ctx, localFolder)
}

// keepSources says how each group is read.
func keepSources(s state.State) ([]keep.Source, error) {
	if len(s.Groups) == 0 {
		return nil, fail.WithHint(errors.New("keep: no replication group is known"), "`rankbench local down` without --keep ends it")
	}
	sources := make([]keep.Source, len(s.Groups))
	var errs []error
	for i, g := range s.Groups {
		var err error
		if sources[i], err = keepSource(s, g); err != nil {
			errs = append(errs, fmt.Errorf("keep %s: %w", g.ID, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fail.WithHint(err, "nothing was ended; delete such groups through the API, or end all without --keep")
	}
	return sources, nil
}

func keepSource(s state.State, g state.Group) (src keep.Source, err error) {
	src.Group = g
	for _, n := range s.Nodes {
		if n.Group == g.ID {
			src.Nodes = append(src.Nodes, n)
		}
	}
	if g.AuthToken {
		if g.ID != s.Group || s.PasswordFile == "" {
			return src, errors.New("its AUTH token is known only to whoever created it, so its keys cannot be read")
		}
		if src.Password, err = localConfig(s).Target.Secret(); err != nil {
			return src, err
		}
	}
	if g.TLS {
		src.TLS, err = target.TLSConfig(&config.TLS{CAFile: g.CAFile})
	}
	return src, err
}
