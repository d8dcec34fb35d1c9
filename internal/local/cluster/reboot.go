package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Kill ends node id with SIGKILL and returns when its process is gone. Nobody
// is told of it: it was asked for.
func (c *Cluster) Kill(id string) error {
	running, err := c.running(id, true)
	if err != nil {
		return fmt.Errorf("kill %s: %w", id, err)
	}
	if err := running.signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", id, err)
	}
	<-running.done
	return nil
}

// Signal sends s to node id, for example SIGSTOP to hang it. If it dies of it,
// that counts as a death that nobody has asked for.
func (c *Cluster) Signal(id string, s os.Signal) error {
	running, err := c.running(id, false)
	if err == nil {
		err = running.signal(s)
	}
	if err != nil {
		return fmt.Errorf("signal %s: %w", id, err)
	}
	if s == sigCont {
		c.resumed(id)
	}
	return nil
}

// resumed catches up on what node id has missed while it was stopped.
func (c *Cluster) resumed(id string) {
	if n, err := c.memberNamed(id); err == nil {
		c.keepTime(context.Background(), n)
	}
}

// running finds the process of node id, and notes if its end was asked for.
func (c *Cluster) running(id string, asked bool) (*child, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.find(id)
	if err != nil {
		return nil, err
	}
	if !n.alive() {
		return nil, errors.New("not running")
	}
	n.child.asked = n.child.asked || asked
	return n.child, nil
}

// Restart runs the process of a dead node again, under its own name and address
// and with its own nodes.conf, and returns when it answers. Its data is gone, as
// it is when ElastiCache replaces a node; what it becomes (a replica, most
// likely) is between it and the other nodes. If Restart of a dead node fails, it is
// dead again.
func (c *Cluster) Restart(ctx context.Context, id string) error {
	if err := c.restart(ctx, id, false); err != nil {
		return fmt.Errorf("restart %s: %w", id, err)
	}
	return nil
}

// Reboot ends the process of node id (SIGTERM) and runs it again, under its own
// name and address and with its own nodes.conf. It returns when the node answers
// and, if it is a replica, its link is up. The data of a replica is copied again;
// that of a primary is gone, and its replicas copy nothing. If Reboot fails, the
// node is dead.
func (c *Cluster) Reboot(ctx context.Context, id string) error {
	if err := c.restart(ctx, id, true); err != nil {
		return fmt.Errorf("reboot %s: %w", id, err)
	}
	return nil
}

func (c *Cluster) restart(ctx context.Context, id string, reboot bool) error {
	ctx, n, end, err := c.beginWith(ctx, id, absent)
	if err != nil {
		return c.stoppedFirst(err)
	}
	defer end()
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if reboot {
		c.end(n, syscall.SIGTERM)
	}
	if err := c.runHere(n); err != nil {
		return err
	}
	if err := c.back(ctx, n, reboot); err != nil {
		c.end(n, syscall.SIGKILL) // or it would run on, and nobody would be told of its death
		return err
	}
	return nil
}

// back waits until n, whose process has just been started, answers, and if asked
// for until its link is up.
func (c *Cluster) back(ctx context.Context, n *node, link bool) error {
	if err := c.answers(ctx, n); err != nil {
		return err
	}
	if link {
		if err := c.linkedAll(ctx, []*node{n}); err != nil {
			return err
		}
	}
	return c.settle(n)
}

// linked wants n's link to its primary to be up, if it is a replica.
func (c *Cluster) linked(ctx context.Context, n *node) error {
	if err := c.exited(n); err != nil {
		return err
	}
	v, err := c.view(ctx, n)
	if err != nil || v.isPrimary() {
		return err
	}
	return linkUp(v.replication)
}

// stoppedFirst says that the cluster is stopped rather than what that has led to.
func (c *Cluster) stoppedFirst(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return ErrStopped
	}
	return err
}
