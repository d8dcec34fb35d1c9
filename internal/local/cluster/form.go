package cluster

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	slots = 16384
	// lookEvery is how often a condition is looked at again. Redis works off its
	// own to-do list every 100 ms, so looking more often finds nothing.
	lookEvery = 50 * time.Millisecond
	// askTakes bounds one question to a node on loopback.
	askTakes = time.Second
)

// connect makes a client that says what happens, at once: no retries.
func connect(addr, password string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Password: password, Protocol: 2,
		DialTimeout: askTakes, ReadTimeout: askTakes, WriteTimeout: askTakes,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1, DialerRetries: 1,
		PoolSize: 1, PipelinePoolSize: -1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// form makes one cluster of the running nodes and waits until it is ready.
func (c *Cluster) form(ctx context.Context) error {
	for _, n := range c.nodes {
		n.client = connect(n.addr(), c.opts.Password)
	}
	if c.opts.Standalone {
		return c.wait(ctx, c.checkStandalone)
	}
	if err := c.assignSlots(ctx); err != nil {
		return err
	}
	if err := c.introduce(ctx); err != nil {
		return err
	}
	if err := c.wait(ctx, c.checkAcquainted); err != nil {
		return err
	}
	if err := c.attachReplicas(ctx); err != nil {
		return err
	}
	return c.wait(ctx, c.checkReady)
}

// assignSlots gives every primary its share and every node an epoch of its own:
// with equal epochs the nodes would first have to settle who owns what.
func (c *Cluster) assignSlots(ctx context.Context) error {
	for i, n := range c.nodes {
		if err := n.client.Do(ctx, "cluster", "set-config-epoch", i+1).Err(); err != nil {
			return fmt.Errorf("set the epoch of %s: %w", n.id, err)
		}
		if !n.primary {
			continue
		}
		from, to := share(n.shard, c.opts.Shards)
		if err := n.client.ClusterAddSlotsRange(ctx, from, to).Err(); err != nil {
			return fmt.Errorf("give slots to %s: %w", n.id, err)
		}
	}
	return nil
}

// share is the range of slots, both ends included, of one shard of several.
func share(shard, shards int) (from, to int) {
	return shard * slots / shards, (shard+1)*slots/shards - 1
}

// introduce lets every node meet every later one. Meeting one node would do,
// the rest goes round by gossip, but that takes seconds.
func (c *Cluster) introduce(ctx context.Context) error {
	for i, n := range c.nodes {
		for _, other := range c.nodes[i+1:] {
			if err := n.client.ClusterMeet(ctx, loopback, strconv.Itoa(other.port)).Err(); err != nil {
				return fmt.Errorf("introduce %s to %s: %w", n.id, other.id, err)
			}
		}
	}
	return nil
}

// attachReplicas makes all but the first node of each shard its replicas.
func (c *Cluster) attachReplicas(ctx context.Context) error {
	var primary string
	for _, n := range c.nodes {
		if n.primary {
			id, err := n.client.Do(ctx, "cluster", "myid").Text()
			if err != nil {
				return fmt.Errorf("ask %s for its id: %w", n.id, err)
			}
			primary = id
			continue
		}
		if err := n.client.ClusterReplicate(ctx, primary).Err(); err != nil {
			return fmt.Errorf("make %s a replica: %w", n.id, err)
		}
	}
	return nil
}

// wait looks again and again until check is content with every node, and ends
// at once when a node's process does.
func (c *Cluster) wait(ctx context.Context, check func(context.Context, *node) error) error {
	return poll(ctx, func(ctx context.Context) error {
		for _, n := range c.nodes {
			if err := c.exited(n); err != nil {
				return err
			}
		}
		for _, n := range c.nodes {
			if err := check(ctx, n); err != nil {
				return fmt.Errorf("%s is not ready: %w", n.id, err)
			}
		}
		return nil
	})
}

// exited is n.exited under the lock.
func (c *Cluster) exited(n *node) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return n.exited()
}

// answers waits until n's own process answers. Whoever had its port first would
// answer as well, hence the question for the pid.
func (c *Cluster) answers(ctx context.Context, n *node) error {
	return poll(ctx, func(ctx context.Context) error {
		if err := c.exited(n); err != nil {
			return err
		}
		return c.isItself(ctx, n)
	})
}

// isItself checks that the process which answers on n's address is n's.
func (c *Cluster) isItself(ctx context.Context, n *node) error {
	if err := listens(ctx, n.addr()); err != nil {
		return err
	}
	client := connect(n.addr(), c.opts.Password)
	defer client.Close()
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

// listens tells whether anybody does; go-redis would log each refusal.
func listens(ctx context.Context, addr string) error {
	d := net.Dialer{Timeout: askTakes}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}
