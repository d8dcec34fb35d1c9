package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/state"
)

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
