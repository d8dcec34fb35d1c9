//go:build unix

package cluster_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
)

func TestFullCoverageDecidesWhetherReplicasOfADeadPrimaryAnswer(t *testing.T) {
	for _, shards := range []int{1, 2, 3} {
		for _, full := range []bool{true, false} {
			t.Run(fmt.Sprintf("shards %d full coverage %v", shards, full), func(t *testing.T) {
				t.Parallel()
				c := clustertest.Start(t, cluster.Options{Shards: shards, Replicas: 1, FullCoverage: full, NodeTimeout: 500 * time.Millisecond})
				readWhilePrimaryIsDead(t, c, full)
			})
		}
	}
}

func readWhilePrimaryIsDead(t *testing.T, c *cluster.Cluster, full bool) {
	t.Helper()
	ctx := t.Context()
	if err := c.Freeze(ctx, "0001", true); err != nil {
		t.Fatal(err)
	}
	primary, heir := c.Nodes()[0], c.Nodes()[1]
	reader := replicaClient(t, heir.Addr)
	if err := c.Kill(primary.ID); err != nil {
		t.Fatal(err)
	}
	if err := reader.Get(ctx, inFirstShard).Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("read right after the death: %v", err)
	}
	eventually(t, func() error { return sees(t, heir.Addr, primary.Addr, "fail", "fail?") })
	wantRead(t, reader, full)
	timed(t, "promote", func() error { return c.Promote(ctx, heir.ID) })
	timed(t, "then writing", func() error { return reader.Set(ctx, inFirstShard, 1, 0).Err() })
}

func TestFrozenReplicaIsNotElected(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{Shards: 3, Replicas: 1, NodeTimeout: 500 * time.Millisecond})
	ctx := t.Context()
	old, heir := c.Nodes()[0], c.Nodes()[1]
	if err := errors.Join(c.Freeze(ctx, "0001", true), c.Kill(old.ID)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return sees(t, heir.Addr, old.Addr, "fail") })
	if err := hasRole(t, heir.Addr, "replica", "down"); err != nil {
		t.Error(err)
	}
	if err := c.Freeze(ctx, "0001", false); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return hasRole(t, heir.Addr, "primary", "") })
	wantTopology(t, c, "0001 lb-0001-002 [] [0-5460]", "0002 lb-0002-001 [lb-0002-002] [5461-10921]", "0003 lb-0003-001 [lb-0003-002] [10922-16383]")
	if nodeCalled(t, c, old.ID).Primary || !nodeCalled(t, c, heir.ID).Primary {
		t.Errorf("Topology has not noted the roles: %+v", c.Nodes())
	}
}

// wantRead wants a read to be refused sooner or later, or to be answered.
func wantRead(t *testing.T, reader *redis.Client, refused bool) {
	t.Helper()
	err := reader.Get(t.Context(), inFirstShard).Err()
	if !refused {
		if !errors.Is(err, redis.Nil) {
			t.Errorf("read after the node timeout: %v", err)
		}
		return
	}
	eventually(t, func() error {
		if err = reader.Get(t.Context(), inFirstShard).Err(); err == nil || !strings.HasPrefix(err.Error(), "CLUSTERDOWN") {
			return fmt.Errorf("read after the node timeout: %w, want CLUSTERDOWN", err)
		}
		return nil
	})
}

// inFirstShard is a key of slot 0.
const inFirstShard = "{06S}"

// replicaClient is a client that reads from a replica.
func replicaClient(t *testing.T, addr string) *redis.Client {
	t.Helper()
	client := client(t, addr)
	if err := client.ReadOnly(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return client
}

// sees wants the node at addr to see other with one of the flags.
func sees(t *testing.T, addr, other string, flags ...string) error {
	t.Helper()
	table, err := client(t, addr).ClusterNodes(t.Context()).Result()
	if err != nil {
		return err
	}
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); strings.HasPrefix(f[1], other+"@") && slices.ContainsFunc(strings.Split(f[2], ","), func(flag string) bool { return slices.Contains(flags, flag) }) {
			return nil
		}
	}
	return fmt.Errorf("%s does not see %s as %v in:\n%s", addr, other, flags, table)
}
