// Package target runs the ranking operations on go-redis: on a cluster, on a
// single server, or on a primary and a reader endpoint. It is the only package
// that knows how a ranking operation becomes commands, and which errors of the
// driver belong to which class. It knows no schedule, no histogram, no file.
//
//  1. Check looks at the target before a load: can it be reached, is it what
//     the config says, may its commands be used (check.go).
//  2. Open makes the driver's client of a config: profile, then single options
//     (profile.go, options.go), with a hook on every node that counts what the
//     driver does there (hook.go).
//  3. Worker runs operations with commands that are used again (worker.go,
//     find.go); Classify names their errors (class.go); Attempts are those of
//     the driver that failed on the way (attempts.go).
//  4. Store is what populate needs of the server (store.go).
package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/result"
)

// Client is the driver, set up for a load. It is safe for concurrent use.
type Client struct {
	backend backend
	cmdable redis.UniversalClient // the same connections, for single commands
	nodes   *nodes
	key     string
	added   atomic.Uint64
}

// Open makes a client for the ranking's key. It connects to nothing yet.
func Open(cfg *config.Config, key string, need Need) (*Client, error) {
	quietDriver()
	tc, err := TLSConfig(cfg.Target.TLS)
	if err != nil {
		return nil, err
	}
	secret, err := cfg.Target.Secret()
	if err != nil {
		return nil, err
	}
	if cfg.Target.Mode == config.Cluster {
		return openCluster(cfg, key, need, tc, secret)
	}
	return openEndpoints(cfg, key, need, tc, secret)
}

// quietDriver keeps the driver's log off the screen: it would print hundreds
// of lines in a failover, each of which is counted here anyway.
func quietDriver() { redis.SetLogger(&logging.VoidLogger{}) }

func openCluster(cfg *config.Config, key string, need Need, tc *tls.Config, secret string) (*Client, error) {
	o, err := clusterOptions(cfg, need, tc)
	if err != nil {
		return nil, fmt.Errorf("set up the driver: %w", err)
	}
	o.Username, o.Password = cfg.Target.Username, secret
	rdb := redis.NewClusterClient(o)
	c := &Client{cmdable: rdb, nodes: &nodes{}, key: key}
	rdb.OnNewNode(c.nodes.watch)
	c.backend = newClusterBackend(rdb, key, cfg.Client.Profile != config.DriverDefaults)
	return c, nil
}

func openEndpoints(cfg *config.Config, key string, need Need, tc *tls.Config, secret string) (*Client, error) {
	write, read := cfg.Target.Primary, cfg.Target.Reader
	if cfg.Target.Mode == config.Standalone {
		write = cfg.Target.Addresses[0]
	}
	c := &Client{nodes: &nodes{}, key: key}
	open := func(addr string) (*redis.Client, error) {
		o, err := singleOptions(cfg, addr, need, tc)
		if err != nil {
			return nil, fmt.Errorf("set up the driver: %w", err)
		}
		o.Username, o.Password = cfg.Target.Username, secret
		rdb := redis.NewClient(o)
		c.nodes.watch(rdb)
		return rdb, nil
	}
	b, err := openPair(open, write, read, cfg.Client.ReadFrom)
	if err != nil {
		return nil, err
	}
	c.backend, c.cmdable = b, b.writer
	return c, nil
}

func openPair(open func(string) (*redis.Client, error), write, read, from string) (*endpointBackend, error) {
	w, err := open(write)
	if err != nil {
		return nil, err
	}
	if read == "" || from == config.Primary {
		return &endpointBackend{writer: w, reader: w}, nil
	}
	r, err := open(read)
	return &endpointBackend{writer: w, reader: r}, err
}

// Worker returns the load's target for one worker.
func (c *Client) Worker(index int) *Worker { return newWorker(c.backend, c.key, index, &c.added) }

// Warm makes the driver learn the topology, and which commands are reads,
// before the workers do so all at once.
func (c *Client) Warm(ctx context.Context) error {
	if err := c.cmdable.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("warm up the driver: %w", err)
	}
	// EXISTS is a read: routed as reads are, and none of the audited commands.
	if err := c.cmdable.Exists(ctx, c.key).Err(); err != nil {
		return fmt.Errorf("warm up the driver: %w", err)
	}
	return nil
}

// Effective lists the driver's options in force by name, without credentials.
func (c *Client) Effective() map[string]any { return c.backend.options() }

// Drivers returns what the driver did on each node since Open, by address.
func (c *Client) Drivers() map[string]result.DriverSample { return c.nodes.samples() }

// AddedBySet returns how many Sets added a member that must have been there: the
// ranking has lost members since it was filled.
func (c *Client) AddedBySet() uint64 { return c.added.Load() }

// Pool is the driver's connection pools, all nodes together, since Open.
type Pool struct {
	Waits, Timeouts uint64 // commands that waited for a connection; that gave up
	WaitSeconds     float64
}

// Pool returns the pools' counters.
func (c *Client) Pool() Pool {
	s := c.backend.stats()
	p := Pool{Waits: uint64(s.WaitCount), Timeouts: uint64(s.Timeouts), WaitSeconds: float64(s.WaitDurationNs) / 1e9}
	if q := s.PipelineStats; q != nil {
		p.Waits += uint64(q.WaitCount)
		p.Timeouts += uint64(q.Timeouts)
		p.WaitSeconds += float64(q.WaitDurationNs) / 1e9
	}
	return p
}

// Close ends all connections.
func (c *Client) Close() error { return c.backend.close() }

// TLSConfig builds the TLS settings of a config; nil for a plain connection.
// ServerName stays empty unless given, so that it follows the host that is
// dialled: in a cluster each node has a name of its own.
func TLSConfig(t *config.TLS) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	tc := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         t.ServerName,
		InsecureSkipVerify: t.InsecureSkipVerify, //nolint:gosec // the user's explicit choice
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read ca_file: %w", err)
		}
		tc.RootCAs = x509.NewCertPool()
		if !tc.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read ca_file %s: no certificate in it", t.CAFile)
		}
	}
	return tc, addClientCert(tc, t)
}

func addClientCert(tc *tls.Config, t *config.TLS) error {
	if t.CertFile == "" && t.KeyFile == "" {
		return nil
	}
	if t.CertFile == "" || t.KeyFile == "" {
		return errors.New("tls: cert_file and key_file go together")
	}
	cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return fmt.Errorf("read cert_file and key_file: %w", err)
	}
	tc.Certificates = []tls.Certificate{cert}
	return nil
}
