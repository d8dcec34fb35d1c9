package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/state"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/target"
)

// nodeStatus is one node in `local status -o json`.
type nodeStatus struct {
	Group      string `json:"group"`
	ID         string `json:"id"`
	Shard      string `json:"shard"`
	Addr       string `json:"addr"`
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
		Long:  "Asks every node for its role and memory. Exit code 1 if none is up.",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLocalStatus(cmd.Context(), out, cmd.OutOrStdout())
		},
	}
	cmd.Flags().VarP(&out, "output", "o", "what goes to stdout")
	return cmd
}

func runLocalStatus(ctx context.Context, out output, stdout io.Writer) error {
	s, err := readLocal()
	if err != nil {
		return err
	}
	health, err := inspect(ctx, s)
	if err != nil {
		return err
	}
	nodes, up := statuses(s, health)
	if err := printStatuses(stdout, out, nodes); err != nil {
		return err
	}
	if up == 0 {
		return fail.WithHint(errors.New("none of the nodes is up"), "`rankbench local down`, then `rankbench local up`")
	}
	return nil
}

// inspect asks all nodes of all groups. The first group may have TLS and an AUTH
// token; those of others are known to their makers only.
func inspect(ctx context.Context, s state.State) ([]cluster.Health, error) {
	c := localConfig(s)
	secret, err := c.Target.Secret()
	if err != nil {
		return nil, err
	}
	encryption, err := target.TLSConfig(c.Target.TLS)
	if err != nil {
		return nil, err
	}
	addrs := make([]string, len(s.Nodes))
	for i, n := range s.Nodes {
		addrs[i] = n.Addr
	}
	return cluster.InspectTLS(ctx, addrs, secret, encryption), nil
}

// statuses puts what is written down and what was found together, and counts
// the nodes that are up.
func statuses(s state.State, health []cluster.Health) (nodes []nodeStatus, up int) {
	for i, n := range s.Nodes {
		h := health[i]
		nodes = append(nodes, nodeStatus{
			Group: n.Group, ID: n.ID, Shard: n.Shard, Addr: n.Addr, Up: h.Up,
			Role: h.Role, Link: h.Link, PID: h.PID, UsedMemory: h.UsedMemory,
		})
		if h.Up {
			up++
		}
	}
	return nodes, up
}

func printStatuses(w io.Writer, out output, nodes []nodeStatus) error {
	if out == outputJSON {
		return result.EncodeJSON(w, map[string]any{"nodes": nodes})
	}
	t := newTable(w, "NODE", "SHARD", "ADDRESS", "STATE", "ROLE", "LINK", "PID", "MEMORY")
	for _, n := range nodes {
		if n.Up {
			t.AppendRow(table.Row{n.ID, n.Shard, n.Addr, "up", n.Role, n.Link, n.PID, fmt.Sprintf("%.1f MiB", float64(n.UsedMemory)/(1<<20))})
		} else {
			t.AppendRow(table.Row{n.ID, n.Shard, n.Addr, "down"})
		}
	}
	t.Render()
	return nil
}
