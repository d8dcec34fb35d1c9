package keep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Target is a fresh, empty group to fill.
type Target struct {
	Nodes    []*redis.Options // logins that may do everything; cluster mode disabled: the primary's first
	Replicas int              // of each shard
}

// Restore fills t with g's keys and returns, when the replicas have them too,
// how many there are.
func (k Kept) Restore(ctx context.Context, g Group, t Target) (int64, error) {
	f, err := os.Open(k.path(g))
	if err != nil {
		return 0, fmt.Errorf("restore %s: %w", g.ID, err)
	}
	defer f.Close()
	n, err := restore(ctx, f, g.ClusterEnabled, t)
	if err != nil {
		return n, fmt.Errorf("restore %s from %s: %w", g.ID, f.Name(), err)
	}
	return n, nil
}

func restore(ctx context.Context, f io.Reader, clustered bool, t Target) (total int64, err error) {
	r, err := newReader(f)
	if err != nil {
		return 0, err
	}
	var d *filler // of the database that is being filled
	for {
		k, err := r.next()
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return total, errors.Join(err, d.close())
		}
		if d != nil && (last || k.db != d.db) {
			n, err := d.finish(ctx)
			if err := errors.Join(err, d.close()); err != nil {
				return total, err
			}
			total, d = total+n, nil
		}
		if last {
			return total, nil
		}
		if d == nil {
			d = newFiller(t, clustered, k.db)
		}
		if err := d.add(ctx, k); err != nil {
			return total, errors.Join(err, d.close())
		}
	}
}

// filler fills one database of a group.
type filler struct {
	client   redis.UniversalClient
	replicas int
	db       uint64
	batch    []record
	bytes    int
	sent     int64 // different keys
	lasting  int64 // of them without a TTL
}

func newFiller(t Target, clustered bool, db uint64) *filler {
	return &filler{client: t.open(clustered, int(db)), replicas: t.Replicas, db: db}
}

// open makes a client that waits for an answer as long as it takes.
func (t Target) open(clustered bool, db int) redis.UniversalClient {
	o := &redis.UniversalOptions{
		IsClusterMode: clustered, DB: db, Protocol: 2,
		Username: t.Nodes[0].Username, Password: t.Nodes[0].Password, TLSConfig: t.Nodes[0].TLSConfig,
		ReadTimeout: -1, WriteTimeout: -1, MaxRetries: -1, DisableIdentity: true,
		MaintNotificationsConfig: t.Nodes[0].MaintNotificationsConfig,
	}
	for _, n := range t.Nodes {
		o.Addrs = append(o.Addrs, n.Addr)
	}
	if !clustered {
		o.Addrs = o.Addrs[:1]
	}
	return redis.NewUniversalClient(o)
}

func (d *filler) close() error {
	if d == nil {
		return nil
	}
	return d.client.Close()
}

func (d *filler) add(ctx context.Context, k record) error {
	if len(d.batch) == batchKeys || len(d.batch) > 0 && d.bytes+len(k.value) > batchBytes {
		if err := d.flush(ctx); err != nil {
			return err
		}
	}
	d.batch, d.bytes = append(d.batch, k), d.bytes+len(k.value)
	return nil
}

// flush sends the batch. Each key is asked for first: SCAN may have met one twice.
func (d *filler) flush(ctx context.Context) error {
	if err := ctx.Err(); err != nil { // a client without timeouts does not look at it
		return err
	}
	pipe := d.client.Pipeline()
	there := make([]*redis.IntCmd, len(d.batch))
	for i, k := range d.batch {
		there[i] = pipe.Exists(ctx, string(k.key))
		pipe.Do(ctx, "RESTORE", k.key, k.ttl, k.value, "REPLACE")
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	for i, k := range d.batch {
		if there[i].Val() > 0 {
			continue
		}
		d.sent++
		if k.ttl == 0 {
			d.lasting++
		}
	}
	clear(d.batch) // the values
	d.batch, d.bytes = d.batch[:0], 0
	return nil
}

// finish sends the rest, waits for the replicas, and counts. Keys with a TTL may
// have gone meanwhile.
func (d *filler) finish(ctx context.Context) (int64, error) {
	if err := d.flush(ctx); err != nil {
		return 0, err
	}
	n, err := d.client.DBSize(ctx).Result()
	switch {
	case err != nil:
		return n, err
	case n < d.lasting || n > d.sent:
		return n, fmt.Errorf("%d keys were sent, %d are there", d.sent, n)
	}
	return n, d.settle(ctx)
}

// settle waits until all replicas have everything.
func (d *filler) settle(ctx context.Context) error {
	if c, ok := d.client.(*redis.ClusterClient); ok {
		return c.ForEachMaster(ctx, d.settleShard)
	}
	return d.settleShard(ctx, d.client.(*redis.Client))
}

func (d *filler) settleShard(ctx context.Context, primary *redis.Client) error {
	conn := primary.Conn()
	defer conn.Close()
	// WAIT means all that was written when this connection last sent a command.
	if err := conn.Ping(ctx).Err(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		n, err := conn.Wait(ctx, d.replicas, time.Second).Result()
		if err != nil || int(n) >= d.replicas {
			return err
		}
	}
	return ctx.Err()
}

// SetNodeTimeout sets how long a silent node of g counts as alive to the others.
func (t Target) SetNodeTimeout(ctx context.Context, g Group, timeout time.Duration) error {
	if !g.ClusterEnabled {
		return nil
	}
	for _, o := range t.Nodes {
		client := redis.NewClient(o)
		err := client.ConfigSet(ctx, "cluster-node-timeout", strconv.FormatInt(timeout.Milliseconds(), 10)).Err()
		client.Close()
		if err != nil {
			return fmt.Errorf("set the timeout of %s: %w", o.Addr, err)
		}
	}
	return nil
}
