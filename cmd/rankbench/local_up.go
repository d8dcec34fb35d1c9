package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local"
	"github.com/rankbench/rankbench/internal/local/keep"
	"github.com/rankbench/rankbench/internal/local/state"
)

func newLocalUpCommand() *cobra.Command {
	var o upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a local ElastiCache",
		Long: "Starts a local ElastiCache, prints its nodes and runs it until ^C or `rankbench local down`;\n" +
			"with --detach it runs on in the background. Its AWS API answers the AWS CLI and the SDKs, once\n" +
			"`rankbench local env` has told them where it is.\n\n" +
			"With --restore it brings back the groups and the keys that `rankbench local down --keep` has kept:\n" +
			"same ids and number of shards, which are numbered from 0001 again, each with as many replicas as the\n" +
			"one that had most; but other ports, another certificate authority, no AUTH tokens (--auth gives the\n" +
			"first group one) and no events. Time to live goes on where it stopped. What is kept stays until the\n" +
			"next --keep, or until you remove " + state.KeptPath(localFolder) + ".\n\n" +
			"The timings that --timing sets: " + timingNames(),
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := o.complete(cmd)
			if err != nil {
				return fail.WithCode(err, fail.CodeUsage)
			}
			if o.restore {
				if err := o.restoreKept(cmd, &u); err != nil {
					return err
				}
				tellRestore(cmd.ErrOrStderr(), *u.options.Kept, o.auth)
			}
			return runLocalUp(cmd.Context(), u, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.addFlags(cmd)
	return cmd
}

func runLocalUp(ctx context.Context, u up, stdout, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := makeWay(stderr); err != nil {
		return err
	}
	switch {
	case u.background:
		return serveInBackground(ctx, u, stderr)
	case u.detach:
		return detach(ctx, u, stdout, stderr)
	}
	err := serve(ctx, u, stderr, func(s state.State) error {
		printNodes(stdout, s)
		tellAPI(stderr, s)
		fmt.Fprintln(stderr, "ready; ^C ends it")
		return nil
	})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // ^C while it was starting: ended as wished, nothing is left
	}
	return err
}

// tellRestore says what is about to be restored.
func tellRestore(w io.Writer, k keep.Kept, auth bool) {
	fmt.Fprintf(w, "restoring %d keys in %d groups, kept %s\n", k.Keys(), len(k.Groups), k.Saved.Local().Format(time.DateTime))
	if k.Groups[0].AuthToken && !auth {
		fmt.Fprintf(w, "group %s had an AUTH token and comes back without one; --auth gives it a new one\n", k.Groups[0].ID)
	}
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
func serve(ctx context.Context, u up, stderr io.Writer, ready func(state.State) error) (err error) {
	if err := os.Unsetenv(tokenVariable); err != nil { // the servers would inherit it
		return err
	}
	board := notice{secret: u.options.Group.AuthToken}
	u.options.Log, u.options.Changed = stderr, func() { board.renew(stderr) }
	l, err := local.Up(ctx, u.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Stop()) }()
	s, err := board.post(l)
	if errors.Is(err, state.ErrUp) {
		return alreadyUp()
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, board.takeDown()) }()
	if err := ready(s); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// notice is the state file of a local ElastiCache as it changes.
type notice struct {
	secret string // the AUTH token, for its file; "" = none

	mu     sync.Mutex
	posted *local.Local // nil before post and after takeDown
}

// post puts the notice up, and the secret beside it: the file of the secret is
// ours only once the state is.
func (n *notice) post(l *local.Local) (state.State, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, err := n.write(l)
	if err != nil {
		return s, err
	}
	if n.secret != "" {
		if err := state.WriteSecret(localFolder, n.secret); err != nil {
			return s, errors.Join(err, state.Remove(localFolder))
		}
	}
	n.posted = l
	return s, nil
}

// write writes down what runs now. The caller holds mu.
func (n *notice) write(l *local.Local) (state.State, error) {
	s, err := l.State()
	if err != nil {
		return s, err
	}
	if n.secret != "" {
		if s.PasswordFile, err = filepath.Abs(state.SecretPath(localFolder)); err != nil {
			return s, err
		}
	}
	return s, state.Write(localFolder, s)
}

// renew writes down what has changed.
func (n *notice) renew(stderr io.Writer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.posted == nil {
		return
	}
	if _, err := n.write(n.posted); err != nil {
		fmt.Fprintln(stderr, err)
	}
}

func (n *notice) takeDown() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.posted = nil
	return state.Remove(localFolder)
}

// tellAPI says where the AWS API is.
func tellAPI(w io.Writer, s state.State) {
	fmt.Fprintf(w, "AWS API at %s; point the AWS CLI and SDKs at it: eval \"$(rankbench local env)\"\n", s.API)
	if s.Primary != "" {
		fmt.Fprintf(w, "primary endpoint %s, reader endpoint %s, names resolved by %s\n", s.Primary, s.Reader, s.Resolver)
	}
}

// serveInBackground is serve for the process that detach is waiting for.
func serveInBackground(ctx context.Context, u up, stderr io.Writer) error {
	starter, told := state.StartedBy(), false
	err := serve(ctx, u, stderr, func(state.State) error {
		told = true
		return starter.Tell(nil)
	})
	if !told {
		return errors.Join(err, starter.Tell(err))
	}
	return err
}

// tellRestored repeats what the background process has noted of each group: it
// has counted the keys.
func tellRestored(w io.Writer) error {
	log, err := os.ReadFile(state.LogPath(localFolder))
	for line := range strings.Lines(string(log)) {
		if strings.HasPrefix(line, "restored ") {
			fmt.Fprint(w, line)
		}
	}
	return err
}

func detach(ctx context.Context, u up, stdout, stderr io.Writer) error {
	if err := state.Launch(ctx, localFolder, u.args); err != nil {
		return err
	}
	s, err := state.Read(localFolder)
	if err != nil {
		return err
	}
	printNodes(stdout, s)
	if u.options.Kept != nil {
		if err := tellRestored(stderr); err != nil {
			return err
		}
	}
	tellAPI(stderr, s)
	fmt.Fprintf(stderr, "running in the background (pid %d, log %s); `rankbench local down` ends it\n",
		s.Owner.PID, state.LogPath(localFolder))
	return nil
}
