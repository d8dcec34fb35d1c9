package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	// lookEvery is how often a condition is looked at again. Redis works off its
	// own to-do list every 100 ms, so looking more often finds nothing.
	lookEvery = 50 * time.Millisecond
	// askTakes bounds one question to a node on loopback.
	askTakes = time.Second
	// tellTakes bounds telling several.
	tellTakes = 3 * askTakes
)

// login is what a node wants to hear from whoever connects.
type login struct {
	user, password string
	tls            *tls.Config // nil = no TLS
}

// options are those of a client that says what happens, at once: no retries.
func (l login) options(addr string, limit time.Duration) *redis.Options {
	return &redis.Options{
		Addr: addr, Username: l.user, Password: l.password, TLSConfig: l.tls, Protocol: 2,
		DialTimeout: askTakes, ReadTimeout: limit, WriteTimeout: limit,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1, DialerRetries: 1,
		PoolSize: 1, PipelinePoolSize: -1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// open makes a client with one connection, which is there already: if go-redis
// were to make it, it would log each refusal.
func (l login) open(ctx context.Context, addr string) (*redis.Client, error) {
	conn, err := l.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	o := l.options(addr, askTakes)
	// If it breaks, go-redis is given the broken one again, and says so.
	o.Dialer = func(context.Context, string, string) (net.Conn, error) { return conn, nil }
	return redis.NewClient(o), nil
}

func (l login) dial(ctx context.Context, addr string) (net.Conn, error) {
	d := &net.Dialer{Timeout: askTakes}
	if l.tls == nil {
		return d.DialContext(ctx, "tcp", addr)
	}
	return (&tls.Dialer{NetDialer: d, Config: l.tls}).DialContext(ctx, "tcp", addr)
}

// Admin makes a client of the node at addr that may do everything; its caller
// closes it.
func (c *Cluster) Admin(addr string) *redis.Client {
	return redis.NewClient(c.admin.options(addr, askTakes))
}

// errAway says that a node has no process, or one that is stopped by a signal.
var errAway = errors.New("it does not run")

// ask puts one question to n. A node whose process is known not to answer is not
// even tried: a connection to a stopped process opens, and then nothing comes.
func (c *Cluster) ask(ctx context.Context, n *node, question func(context.Context, *redis.Client) error) error {
	c.mu.Lock()
	running := n.alive() && !stopped(n.child.pid())
	c.mu.Unlock()
	if !running {
		return fmt.Errorf("%s: %w", n.id, errAway)
	}
	ctx, cancel := context.WithTimeout(ctx, askTakes)
	defer cancel()
	client, err := c.admin.open(ctx, n.addr())
	if err != nil {
		return err
	}
	defer client.Close()
	return question(ctx, client)
}

// tell is a question of which nothing but the error matters.
func (c *Cluster) tell(ctx context.Context, n *node, args ...any) error {
	err := c.ask(ctx, n, func(ctx context.Context, client *redis.Client) error {
		return client.Do(ctx, args...).Err()
	})
	if err != nil {
		return fmt.Errorf("%v at %s: %w", args[:min(2, len(args))], n.id, err)
	}
	return nil
}

// tellAll tells all nodes at once, and leaves out those that do not run. It asks
// again for tellTakes: a connection is reset a moment before its process is
// known to have ended.
func (c *Cluster) tellAll(ctx context.Context, nodes []*node, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, tellTakes)
	defer cancel()
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			errs[i] = poll(ctx, func(ctx context.Context) error {
				if err := c.tell(ctx, n, args...); !errors.Is(err, errAway) {
					return err
				}
				return nil
			})
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
