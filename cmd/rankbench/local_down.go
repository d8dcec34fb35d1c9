package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/local/state"
)

func newLocalDownCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the local ElastiCache",
		Long:  "Ends the local ElastiCache of this folder, or cleans up what a killed one has left.",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLocalDown(cmd.Context(), cmd.ErrOrStderr())
		},
	}
}

func runLocalDown(ctx context.Context, stderr io.Writer) error {
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
