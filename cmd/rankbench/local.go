package main

import (
	"errors"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/state"
)

// localFolder is the folder a local ElastiCache belongs to: where the user is.
const localFolder = "."

func newLocalCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Run a local ElastiCache on this machine",
		Long: "Runs real redis-server processes on loopback, shaped and named as ElastiCache does it.\n" +
			"One local ElastiCache belongs to the folder it was started from; commands without\n" +
			"--config that are run there use it.",
		Args: args(cobra.NoArgs), // cobra asks only where there is something to run
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLocalUpCommand(), newLocalStatusCommand(), newLocalEnvCommand(), newLocalDownCommand())
	return cmd
}

func printNodes(w io.Writer, s state.State) {
	t := newTable(w, "NODE", "SHARD", "ADDRESS", "PID")
	for _, n := range s.Nodes {
		t.AppendRow(table.Row{n.ID, n.Shard, n.Addr, n.PID})
	}
	t.Render()
}

// newTable makes a table as plain as `kubectl get`: no frame, two spaces.
func newTable(w io.Writer, header ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(w)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	t.AppendHeader(header)
	t.SetColumnConfigs(leftAligned(len(header)))
	return t
}

func leftAligned(columns int) []table.ColumnConfig {
	configs := make([]table.ColumnConfig, columns)
	for i := range configs {
		configs[i] = table.ColumnConfig{Number: i + 1, Align: text.AlignLeft}
	}
	return configs
}

// readLocal reads the state, and says what to do where there is none to use.
func readLocal() (state.State, error) {
	s, err := state.Read(localFolder)
	switch {
	case errors.Is(err, state.ErrNone):
		return s, fail.WithHint(err, "start one with `rankbench local up`")
	case errors.Is(err, state.ErrStale):
		return s, fail.WithHint(err, "`rankbench local up` cleans up and starts a new one, `rankbench local down` only cleans up")
	}
	return s, err
}
