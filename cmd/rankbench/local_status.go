package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/state"
	"github.com/rankbench/rankbench/internal/result"
)

// What a node is.
const (
	nodeUp      = "up"
	nodeDown    = "down"
	nodeUnknown = "unknown" // its group's AUTH token is not known here
)

// nodeStatus is one node in `local status -o json`.
type nodeStatus struct {
	Group      string `json:"group"`
	ID         string `json:"id"`
	Shard      string `json:"shard"`
	Addr       string `json:"addr"`
	State      string `json:"state"` // up, down, unknown
	Up         bool   `json:"up"`
	Role       string `json:"role,omitempty"`
	Link       string `json:"link,omitempty"`
	PID        int    `json:"pid,omitempty"`
	UsedMemory int64  `json:"used_memory_bytes,omitempty"`
}

func newLocalStatusCommand() *cobra.Command {
	out := outputText
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the nodes of the local ElastiCache as they are now",
		Long: "Asks every node for its role and memory. A group that was made through the API with an AUTH token\n" +
			"cannot be asked: its nodes are unknown. Exit code 1 if no node is known to be up.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLocalStatus(cmd.Context(), out, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().VarP(&out, "output", "o", "what goes to stdout")
	return cmd
}

func runLocalStatus(ctx context.Context, out output, stdout, stderr io.Writer) error {
	s, err := readLocal()
	if err != nil {
		return err
	}
	nodes := statuses(s, inspect(ctx, s, stderr))
	if err := printStatuses(stdout, out, nodes); err != nil {
		return err
	}
	return checkUp(nodes)
}

// checkUp complains if no node is known to be up.
func checkUp(nodes []nodeStatus) error {
	is := func(word string) bool {
		return slices.ContainsFunc(nodes, func(n nodeStatus) bool { return n.State == word })
	}
	switch {
	case is(nodeUp):
		return nil
	case is(nodeUnknown):
		return errors.New("none of the nodes is known to be up")
	}
	return fail.WithHint(errors.New("none of the nodes is up"), "`rankbench local down`, then `rankbench local up`")
}

// inspect asks the nodes of each group with its own login, by their addresses.
// Those of a group without a known one are left out.
func inspect(ctx context.Context, s state.State, stderr io.Writer) map[string]cluster.Health {
	found := map[string]cluster.Health{}
	for _, g := range s.Groups {
		addrs := state.Addrs(s.NodesOf(g.ID))
		l, err := loginOf(s, g)
		if err != nil {
			fmt.Fprintf(stderr, "nodes of %s cannot be asked: %v\n", g.ID, err)
			continue
		}
		for i, h := range cluster.InspectTLS(ctx, addrs, l.password, l.tls) {
			found[addrs[i]] = h
		}
	}
	return found
}

// statuses puts what is written down and what was found together.
func statuses(s state.State, found map[string]cluster.Health) []nodeStatus {
	var nodes []nodeStatus
	for _, n := range s.Nodes {
		h, asked := found[n.Addr]
		word := nodeDown
		switch {
		case !asked:
			word = nodeUnknown
		case h.Up:
			word = nodeUp
		}
		nodes = append(nodes, nodeStatus{
			Group: n.Group, ID: n.ID, Shard: n.Shard, Addr: n.Addr, State: word, Up: h.Up,
			Role: h.Role, Link: h.Link, PID: h.PID, UsedMemory: h.UsedMemory,
		})
	}
	return nodes
}

func printStatuses(w io.Writer, out output, nodes []nodeStatus) error {
	if out == outputJSON {
		return result.EncodeJSON(w, map[string]any{"nodes": nodes})
	}
	t := newTable(w, "NODE", "SHARD", "ADDRESS", "STATE", "ROLE", "LINK", "PID", "MEMORY")
	for _, n := range nodes {
		if n.Up {
			t.AppendRow(table.Row{n.ID, n.Shard, n.Addr, n.State, n.Role, n.Link, n.PID, fmt.Sprintf("%.1f MiB", float64(n.UsedMemory)/(1<<20))})
		} else {
			t.AppendRow(table.Row{n.ID, n.Shard, n.Addr, n.State})
		}
	}
	t.Render()
	return nil
}
