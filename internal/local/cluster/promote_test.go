//go:build unix

package cluster_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
)

func TestReplicaSucceedsAPrimaryThatIsReplacedUnderItsName(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    cluster.Options
		hang bool
	}{
		{"killed, one shard", cluster.Options{Replicas: 2, FullCoverage: true}, false},
		{"hung, one shard", cluster.Options{Replicas: 1}, true},
		{"killed, two shards", cluster.Options{Shards: 2, Replicas: 1}, false},
		{"hung, two shards", cluster.Options{Shards: 2, Replicas: 2}, true},
		{"hung, three shards, TLS", cluster.Options{Shards: 3, Replicas: 1, TLS: true}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := clustertest.Start(t, tc.o)
			failOverAndReplace(t, c, tc.hang)
		})
	}
}

// topologyTakes is what Topology may take: a question is given a second by design,
// and the rest is for two cores that run several clusters under -race.
const topologyTakes = 3 * time.Second

// failOverAndReplace takes the first node down and checks what comes of it.
func failOverAndReplace(t *testing.T, c *cluster.Cluster, hang bool) {
	t.Helper()
	ctx := t.Context()
	before, err := c.Topology(ctx)
	if err != nil {
		t.Fatal(err)
	}
	old := c.Nodes()[0]
	writeAs(t, c, old.Addr)
	if err := c.Freeze(ctx, "0001", true); err != nil {
		t.Fatal(err)
	}
	takeDown(t, c, old.ID, hang)
	took := timed(t, "topology", func() error { _, err := c.Topology(ctx); return err })
	if took > topologyTakes {
		t.Errorf("Topology took %v", took)
	}
	down := shardOf(t, c, "0001")
	if down.Primary != "" || len(down.Replicas) != len(before[0].Replicas) {
		t.Errorf("while its primary is down: %+v", down)
	}
	heir, err := c.BestReplica(ctx, "0001")
	if err != nil {
		t.Fatal(err)
	}
	timed(t, "promote", func() error { return c.Promote(ctx, heir) })
	if err := c.Promote(ctx, heir); err != nil {
		t.Errorf("promoted twice: %v", err)
	}
	timed(t, "replace", func() error { return c.Replace(ctx, old.ID) })
	if err := c.Freeze(ctx, "0001", false); err != nil {
		t.Fatal(err)
	}
	after := shardOf(t, c, "0001")
	if after.Primary != heir || len(after.Replicas) != len(before[0].Replicas) || len(after.Slots) != len(before[0].Slots) {
		t.Errorf("after it: %+v", after)
	}
	back := nodeCalled(t, c, old.ID)
	if back.Addr != old.Addr || back.PID == old.PID || back.Primary {
		t.Errorf("it is back as %+v, was %+v", back, old)
	}
	if got, want := dbsize(t, c, back.Addr), dbsize(t, c, nodeCalled(t, c, heir).Addr); got != want || want != 1000 {
		t.Errorf("it has %d keys, its primary %d", got, want)
	}
	wantListed(t, c)
}

// writeAs writes keys of one node's slots.
func writeAs(t *testing.T, c *cluster.Cluster, addr string) {
	t.Helper()
	admin := c.Admin(addr)
	defer admin.Close()
	if err := admin.Eval(t.Context(), `local n, i = 0, 0
		while n < 1000 do
			local r = redis.pcall('set', 'key:' .. i, i)
			if not r.err then n = n + 1 end
			i = i + 1
		end`, nil).Err(); err != nil && err != redis.Nil { //nolint:errorlint // never wrapped
		t.Fatal(err)
	}
}

func takeDown(t *testing.T, c *cluster.Cluster, id string, hang bool) {
	t.Helper()
	err := error(nil)
	if hang {
		err = c.Signal(id, syscall.SIGSTOP)
	} else {
		err = c.Kill(id)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func shardOf(t *testing.T, c *cluster.Cluster, id string) cluster.Shard {
	t.Helper()
	shards, err := c.Topology(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shards {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("there is no shard %s in %v", id, shards)
	return cluster.Shard{}
}

// wantListed wants every node to list every other in CLUSTER SLOTS.
func wantListed(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for _, n := range c.Nodes() {
		admin := c.Admin(n.Addr)
		defer admin.Close()
		table, err := admin.ClusterSlots(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		listed, covered := 0, 0
		for _, r := range table {
			listed += len(r.Nodes)
			covered += r.End - r.Start + 1
		}
		if listed < len(c.Nodes()) || covered != 16384 {
			t.Errorf("%s lists %d nodes of %d and %d slots", n.ID, listed, len(c.Nodes()), covered)
		}
	}
}
