// Command rankbench loads a ranking on ElastiCache and says what its users feel.
//
// What goes where: the product of a command goes to stdout, and nothing else
// does; progress, warnings, errors and hints go to stderr. With -o json stdout
// is one JSON document. Nothing is coloured or redrawn where the stream is no
// terminal.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/legible"
)

func main() { os.Exit(rankbench()) }

// rankbench runs the command line and returns the exit code.
func rankbench() int {
	ctx, cancel := interruptible()
	defer cancel()
	err := newRootCommand().ExecuteContext(ctx)
	if readerGone(err) {
		err = nil
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %s\n", legible.Lines(err.Error(), maxNote))
		if hint := fail.HintOf(err); hint != "" {
			fmt.Fprintf(os.Stderr, "hint: %s\n", legible.Lines(hint, maxNote))
		}
	}
	return exitCode(ctx, err)
}

// readerGone tells that nothing failed but writing to a reader of stdout who has
// gone away (`head`).
func readerGone(err error) bool {
	var path *fs.PathError
	return fail.CodeOf(err) == fail.CodeFailed && errors.Is(err, syscall.EPIPE) && errors.As(err, &path) && path.Path == os.Stdout.Name()
}

// exitCode: what failed after ^C has failed because of it.
func exitCode(ctx context.Context, err error) int {
	code := fail.CodeOf(err)
	if code == fail.CodeFailed && ctx.Err() != nil {
		return fail.CodeInterrupted
	}
	return code
}

// interruptible returns a context that ends with the first ^C (or SIGTERM, or the
// end of the terminal): no new work is begun, answers are waited for, results are
// written. The second leaves at once. A reader of stdout that goes away ends nothing:
// there may be something to restore.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // writes return EPIPE
	signals, hangup := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(hangup, syscall.SIGHUP) // which may come twice: from the shell and from the kernel
	}
	go func() {
		select {
		case <-signals:
		case <-hangup:
		}
		cancel()
		<-signals
		terminal.status(nil)
		fmt.Fprintln(os.Stderr, "interrupted again: leaving at once; the intervals so far are in the results, the summary is not (make it with `rankbench report`)")
		if names := unrestored.names(); len(names) > 0 {
			fmt.Fprintf(os.Stderr, "not restored: %s; see `rankbench describe`\n", strings.Join(names, ", "))
		}
		os.Exit(fail.CodeInterrupted)
	}()
	return ctx, cancel
}

// terminal is what the streams of this process share.
var terminal = newScreen(os.Stdout, os.Stderr)

// unrestored knows what a drill has changed and not put back, for whoever leaves
// before that.
var unrestored changes

type changes struct {
	mu sync.Mutex
	of func() []string
}

func (c *changes) watch(of func() []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of = of
}

func (c *changes) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		return nil
	}
	return c.of()
}
