//go:build unix

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/local/cluster"
)

// loadKeys is how many keys the load writes and reads; all are there from the start.
const loadKeys = 500

// load is a writer and two readers beside a change of the cluster.
type load struct {
	stop          context.CancelFunc
	wg            sync.WaitGroup
	writes, reads atomic.Int64
	replicaReads  atomic.Int64 // from all nodes
	misses        atomic.Int64 // of those, keys not found

	mu   sync.Mutex
	errs []error
}

// startLoad runs a client that writes to primaries, one that reads from them, to
// whom a key that is missing is an error, and one that reads from all nodes. All are
// as go-redis is by itself but for looking more often where the nodes are.
func startLoad(t *testing.T, c *cluster.Cluster) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{stop: cancel}
	t.Cleanup(func() { cancel(); l.wg.Wait() })
	writer, reader, replicaReader := clusterClient(t, c, false), clusterClient(t, c, false), clusterClient(t, c, true)
	for i := range loadKeys {
		if err := writer.Set(ctx, loadKey(i), i, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error { return copied(t, c) }) // no reader before the replicas have them
	l.repeat(ctx, time.Millisecond, &l.writes, func(i int) error { return writer.Set(ctx, loadKey(i), i, 0).Err() })
	l.repeat(ctx, time.Millisecond, &l.reads, func(i int) error { return reader.Get(ctx, loadKey(i)).Err() })
	l.repeat(ctx, time.Millisecond, &l.replicaReads, func(i int) error {
		err := replicaReader.Get(ctx, loadKey(i)).Err()
		if errors.Is(err, redis.Nil) {
			l.misses.Add(1)
			return nil
		}
		return err
	})
	l.repeat(ctx, 100*time.Millisecond, new(atomic.Int64), func(int) error { // whoever watches is not to be in the way
		c.Nodes()
		_, err := c.Topology(ctx)
		return err
	})
	return l
}

func loadKey(i int) string { return fmt.Sprint("load:", i%loadKeys) }

func (l *load) repeat(ctx context.Context, every time.Duration, done *atomic.Int64, op func(int) error) {
	l.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for i := 0; ; i++ {
			err := op(i)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil:
				done.Add(1)
			default:
				l.mu.Lock()
				l.errs = append(l.errs, err)
				l.mu.Unlock()
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
}

// check ends the load and wants it to have been served without one error, and all
// keys to have been found but so many in a thousand of the reads from all nodes.
func (l *load) check(t *testing.T, missesPerMille int64) {
	t.Helper()
	l.stop()
	l.wg.Wait()
	writes, reads, replicaReads, misses := l.writes.Load(), l.reads.Load(), l.replicaReads.Load(), l.misses.Load()
	t.Logf("%d writes, %d reads from primaries, %d from all nodes with %d misses", writes, reads, replicaReads, misses)
	if len(l.errs) > 0 || writes == 0 || reads == 0 || replicaReads == 0 {
		t.Errorf("%d errors: %v", len(l.errs), errors.Join(l.errs[:min(3, len(l.errs))]...))
	}
	if misses*1000 > missesPerMille*replicaReads {
		t.Errorf("%d of %d reads from all nodes have missed a key, more than %d in 1000", misses, replicaReads, missesPerMille)
	}
}

// copied wants all replicas to have what their primaries have written so far.
func copied(t *testing.T, c *cluster.Cluster) error {
	t.Helper()
	keys := map[string]int64{}
	for _, n := range c.Nodes() { // the primary of each shard is the first
		size := dbsize(t, c, n.Addr)
		if n.Primary {
			keys[n.Shard] = size
		}
		if size != keys[n.Shard] {
			return fmt.Errorf("%s has %d keys, its primary %d", n.ID, size, keys[n.Shard])
		}
	}
	return nil
}

func clusterClient(t *testing.T, c *cluster.Cluster, replicas bool) *redis.ClusterClient {
	t.Helper()
	cc := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: c.Addrs(), ReadOnly: replicas, RouteRandomly: replicas,
		ClusterStateReloadInterval: 500 * time.Millisecond, // by itself only every minute
	})
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

// fill writes n keys, a ranking among them.
func fill(t *testing.T, c *cluster.Cluster, n int) {
	t.Helper()
	p := clusterClient(t, c, false).Pipeline()
	for i := range n {
		p.Set(t.Context(), fmt.Sprint("key:", i), i, 0)
		p.ZAdd(t.Context(), "ranking", redis.Z{Score: float64(i), Member: i})
	}
	if _, err := p.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// contents are the keys that fill has written, with a checksum each.
func contents(t *testing.T, c *cluster.Cluster) map[string]uint32 {
	t.Helper()
	all := map[string]uint32{}
	var mu sync.Mutex
	err := clusterClient(t, c, false).ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
		keys := slices.Concat(node.Keys(ctx, "key:*").Val(), node.Keys(ctx, "ranking").Val())
		dumps, err := node.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, key := range keys {
				p.Dump(ctx, key)
			}
			return nil
		})
		mu.Lock()
		defer mu.Unlock()
		for i, dump := range dumps {
			all[keys[i]] = crc32.ChecksumIEEE([]byte(dump.(*redis.StringCmd).Val()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wantSame compares contents.
func wantSame(t *testing.T, got, want map[string]uint32) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	var lost []string
	for key := range want {
		if got[key] != want[key] {
			lost = append(lost, key)
		}
	}
	slices.Sort(lost)
	t.Errorf("%d of %d keys are lost or changed, the first of them %v; there are %d", len(lost), len(want), lost[:min(5, len(lost))], len(got))
}

// dbsize asks the node for its number of keys.
func dbsize(t *testing.T, c *cluster.Cluster, addr string) int64 {
	t.Helper()
	admin := c.Admin(addr)
	defer admin.Close()
	n, err := admin.DBSize(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// nodeCalled finds a node by its ID.
func nodeCalled(t *testing.T, c *cluster.Cluster, id string) cluster.Node {
	t.Helper()
	nodes := c.Nodes()
	i := slices.IndexFunc(nodes, func(n cluster.Node) bool { return n.ID == id })
	if i < 0 {
		t.Fatalf("there is no %s in %v", id, nodes)
	}
	return nodes[i]
}

// wantTopology compares what Topology says, written as "0001 primary [replicas] slots".
func wantTopology(t *testing.T, c *cluster.Cluster, want ...string) {
	t.Helper()
	shards, err := c.Topology(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range shards {
		got = append(got, fmt.Sprint(s.ID, " ", s.Primary, " ", s.Replicas, " ", s.Slots))
	}
	if !slices.Equal(got, want) {
		t.Errorf("topology %q, want %q", got, want)
	}
}

// timed logs how long something takes.
func timed(t *testing.T, what string, do func() error) time.Duration {
	t.Helper()
	start := time.Now()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	t.Logf("%s took %v", what, took.Round(time.Millisecond))
	return took
}
