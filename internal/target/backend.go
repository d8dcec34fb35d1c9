package target

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// backend is how commands reach the servers: through the cluster's topology, or
// through one or two endpoints. It is safe for concurrent use.
type backend interface {
	// write and read run one command where the driver would.
	write(ctx context.Context, cmd redis.Cmder) error
	read(ctx context.Context, cmd redis.Cmder) error
	// pin names the node for all reads of one operation.
	pin(ctx context.Context) (pinned, error)
	// readPipeline runs reads with the driver's own routing and retries.
	readPipeline() redis.Pipeliner
	// retries says whether the driver would try again after an error.
	retries() bool
	// transparent says whether the hooks see every attempt: a client's own
	// retries are made behind its hooks.
	transparent() bool
	// failed is told of every failed operation.
	failed(ctx context.Context)
	stats() *redis.PoolStats
	options() map[string]any
	close() error
}

// pinned is one node's client; a cluster's node client does no retries itself.
type pinned interface{ Pipeline() redis.Pipeliner }

type clusterBackend struct {
	client *redis.ClusterClient
	key    string
	onNode func(ctx context.Context, key string) (*redis.Client, error)
	reload bool // ask for the topology again after an error
}

func newClusterBackend(c *redis.ClusterClient, key string, reload bool) *clusterBackend {
	b := &clusterBackend{client: c, key: key, onNode: c.MasterForKey, reload: reload}
	if c.Options().ReadOnly {
		b.onNode = c.SlaveForKey // honours random and nearest, too
	}
	return b
}

var _ backend = (*clusterBackend)(nil)

func (b *clusterBackend) write(ctx context.Context, cmd redis.Cmder) error {
	return b.client.Process(ctx, cmd)
}

func (b *clusterBackend) read(ctx context.Context, cmd redis.Cmder) error {
	return b.client.Process(ctx, cmd)
}

func (b *clusterBackend) pin(ctx context.Context) (pinned, error) { return b.onNode(ctx, b.key) }

func (b *clusterBackend) readPipeline() redis.Pipeliner { return b.client.Pipeline() }

func (b *clusterBackend) retries() bool { return b.client.Options().MaxRedirects > 0 }

// transparent: the nodes' clients try once, unless max_retries says otherwise.
func (b *clusterBackend) transparent() bool { return b.client.Options().MaxRetries <= 0 }

// failed asks for the topology after an error: by itself the driver does so
// only after MOVED and READONLY, so that a dead primary is noticed at the next
// periodic reload (go-redis issue 3979). It is asynchronous and rate-limited
// by the driver.
func (b *clusterBackend) failed(ctx context.Context) {
	if b.reload {
		b.client.ReloadState(ctx)
	}
}

func (b *clusterBackend) stats() *redis.PoolStats { return b.client.PoolStats() }
func (b *clusterBackend) options() map[string]any { return effective(b.client.Options()) }
func (b *clusterBackend) close() error            { return b.client.Close() }

// endpointBackend is one server, or a primary and a reader endpoint.
type endpointBackend struct {
	writer, reader *redis.Client // the same client where there is one endpoint
}

var _ backend = (*endpointBackend)(nil)

func (b *endpointBackend) write(ctx context.Context, cmd redis.Cmder) error {
	return b.writer.Process(ctx, cmd)
}

func (b *endpointBackend) read(ctx context.Context, cmd redis.Cmder) error {
	return b.reader.Process(ctx, cmd)
}

func (b *endpointBackend) pin(context.Context) (pinned, error) { return b.reader, nil }
func (b *endpointBackend) readPipeline() redis.Pipeliner       { return b.reader.Pipeline() }
func (b *endpointBackend) retries() bool                       { return false } // the client retries by itself
func (b *endpointBackend) transparent() bool                   { return b.writer.Options().MaxRetries <= 0 }
func (b *endpointBackend) failed(context.Context)              {}

func (b *endpointBackend) stats() *redis.PoolStats {
	s := *b.writer.PoolStats()
	if b.reader != b.writer {
		add(&s, b.reader.PoolStats())
	}
	return &s
}

func add(s, more *redis.PoolStats) {
	s.WaitCount += more.WaitCount
	s.WaitDurationNs += more.WaitDurationNs
	s.Timeouts += more.Timeouts
	s.TotalConns += more.TotalConns
}

func (b *endpointBackend) options() map[string]any { return effective(b.writer.Options()) }

func (b *endpointBackend) close() error {
	err := b.writer.Close()
	if b.reader != b.writer {
		if e := b.reader.Close(); err == nil {
			err = e
		}
	}
	return err
}
