package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/cluster"
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

// upOptions are the flags of `local up`.
type upOptions struct {
	cluster      cluster.Options
	fullCoverage string
	detach       bool
	background   bool // we are what --detach has started
}

func (o *upOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.cluster.Group, "group", "lb", "replication group `ID`; nodes are named ID-0001-001 …")
	f.IntVar(&o.cluster.Shards, "shards", 1, "number of shards")
	f.IntVar(&o.cluster.Replicas, "replicas", 2, "replicas of each shard")
	f.StringVar(&o.fullCoverage, "full-coverage", "yes", "`yes|no`: refuse everything while a slot is not covered")
	f.DurationVar(&o.cluster.NodeTimeout, "node-timeout", 2*time.Second, "time after which a silent node counts as failed")
	f.IntVar(&o.cluster.Port, "port", 7001, "first `port` to try, then the next free ones (0: random free ports)")
	f.StringVar(&o.cluster.Binary, "redis-server", "", "`path` of the server (default: redis-server, then valkey-server, on PATH)")
	f.BoolVar(&o.detach, "detach", false, "return when it is ready, and leave it running in the background")
	f.BoolVar(&o.background, "background", false, "")
	_ = f.MarkHidden("background") // fails only for a flag that does not exist
}

// args are the flags that make a background process do as we were told.
func (o *upOptions) args() []string {
	c := o.cluster
	return []string{
		"local", "up", "--background", "--group=" + c.Group,
		fmt.Sprintf("--shards=%d", c.Shards), fmt.Sprintf("--replicas=%d", c.Replicas),
		"--full-coverage=" + o.fullCoverage, fmt.Sprintf("--node-timeout=%v", c.NodeTimeout),
		fmt.Sprintf("--port=%d", c.Port), "--redis-server=" + c.Binary,
	}
}

func (o *upOptions) complete() error {
	if o.fullCoverage != "yes" && o.fullCoverage != "no" {
		return fail.WithCode(fmt.Errorf("--full-coverage: %q is neither yes nor no", o.fullCoverage), fail.CodeUsage)
	}
	o.cluster.FullCoverage = o.fullCoverage == "yes"
	if o.cluster.Shards == 0 { // which to the package means the default
		return fail.WithCode(errors.New("shards: 0 is not at least 1"), fail.CodeUsage)
	}
	if err := o.cluster.Validate(); err != nil {
		return fail.WithCode(err, fail.CodeUsage)
	}
	return nil
}

func newLocalUpCommand() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a local ElastiCache",
		Long: "Starts a local ElastiCache, prints its nodes and runs it until ^C or `rankbench local down`;\n" +
			"with --detach it runs on in the background.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(); err != nil {
				return err
			}
			return runLocalUp(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.addFlags(cmd)
	return cmd
}

func runLocalUp(ctx context.Context, o upOptions, stdout, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := makeWay(stderr); err != nil {
		return err
	}
	switch {
	case o.background:
		return serveInBackground(ctx, o, stderr)
	case o.detach:
		return detach(ctx, o, stdout, stderr)
	}
	err := serve(ctx, o, stderr, func(s state.State) error {
		printNodes(stdout, s)
		fmt.Fprintln(stderr, "ready; ^C ends it")
		return nil
	})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // ^C while it was starting: ended as wished, nothing is left
	}
	return err
}

// makeWay refuses if a local ElastiCache is up, and cleans up after a dead one.
func makeWay(stderr io.Writer) error {
	_, err := state.Read(localFolder)
	switch {
	case err == nil:
		return alreadyUp()
	case errors.Is(err, state.ErrNone):
		return nil
	case errors.Is(err, state.ErrStale):
		return cleanUp(stderr)
	}
	return err
}

// cleanUp removes what an owner that was killed has left, and says so.
func cleanUp(stderr io.Writer) error {
	if err := state.Clean(localFolder); err != nil {
		return err
	}
	fmt.Fprintln(stderr, "cleaned up a local ElastiCache whose owner was killed")
	return nil
}

func alreadyUp() error {
	return fail.WithHint(state.ErrUp, "see it with `rankbench local status`, end it with `rankbench local down`")
}

// serve runs a local ElastiCache until ctx ends; ready is called when it is up.
func serve(ctx context.Context, o upOptions, stderr io.Writer, ready func(state.State) error) (err error) {
	o.cluster.Log = stderr
	c, err := cluster.Start(ctx, o.cluster)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	s, err := state.Of(c, o.cluster.Group, time.Now())
	if err != nil {
		return err
	}
	if err := state.Write(localFolder, s); errors.Is(err, state.ErrUp) {
		return alreadyUp()
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.Remove(localFolder)) }()
	if err := ready(s); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// serveInBackground is serve for the process that detach is waiting for.
func serveInBackground(ctx context.Context, o upOptions, stderr io.Writer) error {
	starter, told := state.StartedBy(), false
	err := serve(ctx, o, stderr, func(state.State) error {
		told = true
		return starter.Tell(nil)
	})
	if !told {
		return errors.Join(err, starter.Tell(err))
	}
	return err
}

func detach(ctx context.Context, o upOptions, stdout, stderr io.Writer) error {
	if err := state.Launch(ctx, localFolder, o.args()); err != nil {
		return err
	}
	s, err := state.Read(localFolder)
	if err != nil {
		return err
	}
	printNodes(stdout, s)
	fmt.Fprintf(stderr, "running in the background (pid %d, log %s); `rankbench local down` ends it\n",
		s.Owner.PID, state.LogPath(localFolder))
	return nil
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

// nodeStatus is one node in `local status -o json`.
type nodeStatus struct {
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
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the nodes of the local ElastiCache as they are now",
		Long:  "Asks every node for its role and memory. Exit code 1 if none is up.",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return fail.WithCode(fmt.Errorf("--output: %q is neither text nor json", output), fail.CodeUsage)
			}
			return runLocalStatus(cmd.Context(), output, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "`text|json`")
	return cmd
}

func runLocalStatus(ctx context.Context, output string, stdout io.Writer) error {
	s, err := readLocal()
	if err != nil {
		return err
	}
	nodes, up := statuses(s, cluster.Inspect(ctx, s.Addrs(), ""))
	if err := printStatuses(stdout, output, nodes); err != nil {
		return err
	}
	if up == 0 {
		return fail.WithHint(errors.New("none of the nodes is up"), "`rankbench local down`, then `rankbench local up`")
	}
	return nil
}

// statuses puts what is written down and what was found together, and counts
// the nodes that are up.
func statuses(s state.State, health []cluster.Health) (nodes []nodeStatus, up int) {
	for i, n := range s.Nodes {
		h := health[i]
		nodes = append(nodes, nodeStatus{
			ID: n.ID, Shard: n.Shard, Addr: n.Addr, Up: h.Up,
			Role: h.Role, Link: h.Link, PID: h.PID, UsedMemory: h.UsedMemory,
		})
		if h.Up {
			up++
		}
	}
	return nodes, up
}

func printStatuses(w io.Writer, output string, nodes []nodeStatus) error {
	if output == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{"nodes": nodes})
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

func newLocalEnvCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "env",
		Short: "Print the local ElastiCache's addresses for a shell",
		Long:  "Prints export lines for a POSIX shell: eval \"$(rankbench local env)\"",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readLocal()
			if err != nil {
				return err
			}
			printEnv(cmd.OutOrStdout(), s)
			return nil
		},
	}
}

func printEnv(w io.Writer, s state.State) {
	for _, v := range []struct{ name, value string }{
		{"RANKBENCH_ADDRESSES", strings.Join(s.Addrs(), ",")},
	} {
		fmt.Fprintf(w, "export %s=%s\n", v.name, shellQuote(v.value))
	}
}

// shellQuote quotes s for a POSIX shell, where it needs that.
func shellQuote(s string) string {
	special := func(r rune) bool {
		return !strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,:/_-", r)
	}
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

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
