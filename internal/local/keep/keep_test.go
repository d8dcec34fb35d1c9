package keep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/local/keep"
	"github.com/rankbench/rankbench/internal/local/state"
)

// group describes a cluster as local.json does.
func group(c *cluster.Cluster, o cluster.Options) keep.Source {
	s := keep.Source{Group: state.Group{ID: o.Group, ClusterEnabled: !o.Standalone, Shards: max(1, o.Shards), Replicas: o.Replicas}}
	for _, n := range c.Nodes() {
		s.Nodes = append(s.Nodes, state.Node{Group: o.Group, ID: n.ID, Shard: n.Shard, Addr: n.Addr})
	}
	return s
}

func target(c *cluster.Cluster, o cluster.Options) keep.Target {
	t := keep.Target{Replicas: o.Replicas}
	for _, n := range c.Nodes() {
		client := c.Admin(n.Addr)
		t.Nodes = append(t.Nodes, client.Options())
		client.Close()
	}
	return t
}

// client opens what users would, of database db.
func client(t *testing.T, c *cluster.Cluster, o cluster.Options, db int) redis.UniversalClient {
	t.Helper()
	addrs := c.Addrs()
	if o.Standalone {
		addrs = addrs[:1]
	}
	rdb := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: addrs, IsClusterMode: !o.Standalone, DB: db, DisableIdentity: true})
	t.Cleanup(func() { rdb.Close() })
	return rdb
}

const binaryKey = "\x00\r\n\xff{}"

func fill(t *testing.T, rdb redis.UniversalClient, n int) {
	t.Helper()
	ctx, pipe := t.Context(), rdb.Pipeline()
	for i := range n {
		pipe.Set(ctx, fmt.Sprintf("key-%d", i), i, 0)
		pipe.ZAdd(ctx, "ranking", redis.Z{Score: float64(i), Member: fmt.Sprintf("user-%d", i)})
	}
	pipe.Set(ctx, binaryKey, "\xff\x00", 0)
	pipe.Set(ctx, "large", strings.Repeat("x", 9<<20), 0) // more than a batch
	pipe.HSet(ctx, "short", "field", "value")
	pipe.Expire(ctx, "short", time.Hour)
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
}

func expectFilled(t *testing.T, rdb redis.UniversalClient, n int) {
	t.Helper()
	ctx := t.Context()
	if size := rdb.DBSize(ctx).Val(); size != int64(n+4) {
		t.Errorf("%d keys, want %d", size, n+4)
	}
	if rank := rdb.ZRank(ctx, "ranking", "user-7").Val(); rank != 7 || rdb.ZCard(ctx, "ranking").Val() != int64(n) {
		t.Errorf("user-7 has rank %d of %d", rank, rdb.ZCard(ctx, "ranking").Val())
	}
	if v := rdb.Get(ctx, binaryKey).Val(); v != "\xff\x00" {
		t.Errorf("binary key: %q", v)
	}
	if v := len(rdb.Get(ctx, "large").Val()); v != 9<<20 {
		t.Errorf("large value: %d bytes", v)
	}
	if left := rdb.TTL(ctx, "short").Val(); left < 30*time.Minute || left > time.Hour {
		t.Errorf("time to live %v", left)
	}
	if left := rdb.TTL(ctx, "key-1").Val(); left != -1 {
		t.Errorf("time to live %v where none was set", left)
	}
}

func TestGroupsComeBackWithAllTheirKeys(t *testing.T) {
	for name, row := range map[string]struct {
		o   cluster.Options
		dbs []int
	}{
		"cluster of three shards with replicas": {cluster.Options{Group: "lb", Shards: 3, Replicas: 1, Restricted: true, FullCoverage: true}, []int{0}},
		"cluster of one shard without replicas": {cluster.Options{Group: "lb", Shards: 1, Restricted: true, FullCoverage: true}, []int{0}},
		"cluster mode disabled, two databases":  {cluster.Options{Group: "lb", Standalone: true, Replicas: 1, Restricted: true}, []int{0, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			old, dir := clustertest.Start(t, row.o), t.TempDir()
			for _, db := range row.dbs {
				fill(t, client(t, old, row.o, db), 3000)
			}
			var log bytes.Buffer
			if _, err := keep.Save(ctx, dir, []keep.Source{group(old, row.o)}, &log, still); err != nil {
				t.Fatal(err)
			}
			k, err := keep.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			fresh := clustertest.Start(t, row.o)
			n, err := k.Restore(ctx, k.Groups[0], target(fresh, row.o))
			if err != nil || n != int64(3004*len(row.dbs)) || n != k.Keys() {
				t.Errorf("%d keys restored of %d (%v)", n, k.Keys(), err)
			}
			for _, db := range row.dbs {
				expectFilled(t, client(t, fresh, row.o, db), 3000)
			}
		})
	}
}

func TestAFailedSaveLeavesWhatWasKept(t *testing.T) {
	o := cluster.Options{Group: "lb", Shards: 2, Restricted: true}
	c := clustertest.Start(t, o)
	fill(t, client(t, c, o, 0), 10)
	good, kept := group(c, o), filepath.Join(t.TempDir(), "kept")
	if _, err := keep.Save(t.Context(), kept, []keep.Source{good}, &bytes.Buffer{}, still); err != nil {
		t.Fatal(err)
	}
	expectKept(t, kept)
	missing := good
	missing.Nodes = good.Nodes[:1]
	_, err := keep.Save(t.Context(), kept, []keep.Source{good, missing}, &bytes.Buffer{}, still)
	if err == nil || !strings.Contains(err.Error(), "1 of 2 shards") {
		t.Errorf("%v, want 1 of 2 shards", err)
	}
	expectKept(t, kept)

	fill(t, client(t, c, o, 0), 20)
	changed, read := errors.New("changed meanwhile"), 0
	_, err = keep.Save(t.Context(), kept, []keep.Source{good, good}, &bytes.Buffer{}, func() error {
		files, _ := filepath.Glob(filepath.Join(kept, "*.keys"))
		read = len(files) - 1
		return changed
	})
	if !errors.Is(err, changed) || read != 2 {
		t.Errorf("%v when %d groups were read, want %v after 2", err, read, changed)
	}
	expectKept(t, kept)
}

// still says that nothing has changed.
func still() error { return nil }

// expectKept checks that one group of 14 keys is kept, and nothing else is there.
func expectKept(t *testing.T, dir string) {
	t.Helper()
	if k, err := keep.Open(dir); err != nil || k.Keys() != 14 {
		t.Errorf("%d keys (%v), want 14", k.Keys(), err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("left: %v", files)
	}
}
