package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/local/keep"
	"github.com/rankbench/rankbench/internal/local/state"
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
			"If something cannot be kept, or an operation goes on, nothing is ended; a group that is being\n" +
			"deleted or was never created is left out. Without --keep, what was kept before stays.",
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
