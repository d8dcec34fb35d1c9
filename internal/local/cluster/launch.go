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
	"sync"
)

// portTries bounds how often a node is given another port.
const portTries = 20

// run starts the processes of nodes, all at once, and waits until all answer.
func (c *Cluster) run(ctx context.Context, nodes []*node, ports *ports) error {
	for _, n := range nodes {
		if err := c.runOn(n, ports); err != nil {
			return err
		}
	}
	for _, n := range nodes {
		if err := c.settleOn(ctx, n, ports); err != nil {
			return err
		}
	}
	return nil
}

// runOn starts n's process on the next free port.
func (c *Cluster) runOn(n *node, ports *ports) (err error) {
	if n.port, err = ports.take(); err != nil {
		return err
	}
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(n.dir, confFile), []byte(c.conf(n)), 0o600); err != nil {
		return err
	}
	return c.launch(n)
}

// settleOn waits until n answers, on another port if it has lost the race for
// the first one.
func (c *Cluster) settleOn(ctx context.Context, n *node, ports *ports) error {
	for range portTries {
		err := c.answers(ctx, n)
		var exit *exitError
		if !errors.As(err, &exit) || !exit.portTaken() {
			return err
		}
		if err := c.runOn(n, ports); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: lost %d ports in a row to other processes", n.id, portTries)
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
	c.watchers.Go(func() { c.watch(n, ch) })
	return c.record(n)
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
func (c *Cluster) record(n *node) error {
	proc, err := Identify(n.child.pid())
	if err != nil {
		return nil //nolint:nilerr // it has ended already, which the wait for its answer will tell
	}
	c.owner.Nodes = slices.DeleteFunc(c.owner.Nodes, func(o ownedNode) bool { return o.ID == n.id })
	c.owner.Nodes = append(c.owner.Nodes, ownedNode{Process: proc, ID: n.id, Addr: n.addr()})
	return c.owner.write(c.dir)
}

// watch waits for a process to end, and tells of it if nobody asked for it.
func (c *Cluster) watch(n *node, ch *child) {
	ch.err = ch.cmd.Wait()
	close(ch.done)
	c.mu.Lock()
	told := c.ready && !c.stopped
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
