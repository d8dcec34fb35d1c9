package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"
)

// portTries bounds how often a node is given another port.
const portTries = 20

// run starts the processes of nodes, all at once, and waits until all answer.
func (c *Cluster) run(ctx context.Context, nodes []*node) error {
	for _, n := range nodes {
		if err := c.runAnywhere(n); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		if err := c.settleOn(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// runAnywhere starts n's process at the next free address.
func (c *Cluster) runAnywhere(n *node) error {
	host, port, err := c.places.take()
	if err != nil {
		return err
	}
	c.mu.Lock()
	n.host, n.port = host, port
	c.mu.Unlock()
	return c.runHere(n)
}

// runHere starts n's process at the address it has.
func (c *Cluster) runHere(n *node) error {
	if err := c.prepare(n); err != nil {
		return err
	}
	return c.launch(n)
}

// prepare writes what n's process reads when it starts.
func (c *Cluster) prepare(n *node) error {
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	if c.ca != nil {
		if err := c.ca.issue(n, c.opts.names(n.id)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(n.dir, confFile), []byte(c.conf(n)), 0o600)
}

// settleOn waits until n answers, at another address if it has lost the race for
// the first one.
func (c *Cluster) settleOn(ctx context.Context, n *node) error {
	for range portTries {
		err := c.answers(ctx, n)
		var exit *exitError
		if !errors.As(err, &exit) || !exit.portTaken() {
			return err
		}
		if err := c.runAnywhere(n); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: lost %d ports in a row to other processes", n.id, portTries)
}

// answers waits until n's own process answers. Whoever had its port first would
// answer as well, hence the question for the pid.
func (c *Cluster) answers(ctx context.Context, n *node) error {
	return poll(ctx, func(ctx context.Context) error {
		if err := c.exited(n); err != nil {
			return err
		}
		return c.ask(ctx, n, func(ctx context.Context, client *redis.Client) error { return c.isItself(ctx, n, client) })
	})
}

// isItself checks that the process which answers on n's address is n's.
func (c *Cluster) isItself(ctx context.Context, n *node, client *redis.Client) error {
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return fmt.Errorf("%s does not answer yet: %w", n.id, err)
	}
	c.mu.Lock()
	want := strconv.Itoa(n.child.pid())
	c.mu.Unlock()
	if got := field(info, "process_id"); got != want {
		return fmt.Errorf("%s: process %s answers on its port, not %s", n.id, got, want)
	}
	return nil
}

// exited is n.exited under the lock.
func (c *Cluster) exited(n *node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return n.exited()
}

// launch runs n's process and records it in the owner file. Both happen under
// mu: after Stop nothing starts, and the file never misses a process for long.
func (c *Cluster) launch(n *node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return ErrStopped
	}
	if n.alive() {
		return errors.New("already running")
	}
	cmd, err := c.exec(n)
	if err != nil {
		return fmt.Errorf("start %s: %w", n.id, err)
	}
	ch := &child{cmd: cmd, done: make(chan struct{})}
	n.child = ch
	c.children[ch] = true
	c.watchers.Go(func() { c.watch(n, ch) })
	return c.record(n, ch)
}

// exec starts n's server. Its output goes to a file and not into a pipe: so it
// never waits for us to read, and its last words outlive us.
func (c *Cluster) exec(n *node) (*exec.Cmd, error) {
	out, err := os.OpenFile(filepath.Join(n.dir, logFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the child has its own
	cmd := exec.Command(c.server.Binary, filepath.Join(n.dir, confFile))
	cmd.Dir, cmd.Stdout, cmd.Stderr = n.dir, out, out
	return cmd, c.spawner.start(cmd)
}

// record writes n's process into the owner file. The caller holds mu.
func (c *Cluster) record(n *node, ch *child) error {
	proc, err := Identify(ch.pid())
	if err != nil {
		return nil //nolint:nilerr // it has ended already, which the wait for its answer will tell
	}
	ch.process = proc
	c.owner.Nodes = append(c.owner.Nodes, ownedNode{Process: proc, ID: n.id, Addr: n.addr()})
	return c.owner.write(c.dir)
}

// erase takes a process that has ended out of the owner file. The caller holds
// mu. That it cannot be written is no harm: sweep knows a process by its start.
func (c *Cluster) erase(ch *child) {
	delete(c.children, ch)
	c.owner.Nodes = slices.DeleteFunc(c.owner.Nodes, func(o ownedNode) bool { return o.Process == ch.process })
	if !c.stopped {
		_ = c.owner.write(c.dir)
	}
}

// watch waits for a process to end, and tells of it if nobody asked for it.
func (c *Cluster) watch(n *node, ch *child) {
	ch.err = ch.cmd.Wait()
	c.mu.Lock()
	c.erase(ch)
	close(ch.done) // whoever has waited for it finds the owner file without it
	told := ch.settled && !c.stopped && !ch.asked
	if told && n.standing != leaving && c.opts.OnDeath != nil {
		c.callbacks.Go(func() { c.opts.OnDeath(n.id) })
	}
	c.mu.Unlock()
	if told {
		fmt.Fprintf(c.log, "%s (%s, pid %d) died: %s; its last lines:\n%s\n",
			n.id, n.addr(), ch.pid(), status(ch.err), n.tail())
	}
}

// lockedWriter lets several watchers write to one writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
