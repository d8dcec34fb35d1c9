//go:build unix

package cluster_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
)

func TestStandaloneIsNamedAsElastiCacheNamesClusterModeDisabled(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 1})
	if nodes := c.Nodes(); nodes[0].ID != "lb-001" || nodes[1].ID != "lb-002" || nodes[0].Shard != "0001" {
		t.Errorf("the nodes are %+v", nodes)
	}
	wantTopology(t, c, "0001 lb-001 [lb-002] []")
	if id := c.NextID("0001"); id != "lb-003" {
		t.Errorf("the next is %q", id)
	}
}

func TestOwnHostsGiveEachNodeAnAddressOfItsOwnOnOnePort(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("Linux only")
	}
	for _, hang := range []bool{false, true} {
		t.Run(fmt.Sprint("hang ", hang), func(t *testing.T) {
			t.Parallel()
			c := clustertest.Start(t, cluster.Options{Standalone: true, OwnHosts: true, Replicas: 2})
			checkHosts(t, c.Nodes())
			succeedStandalone(t, c, hang)
			checkHosts(t, c.Nodes())
		})
	}
}

func checkHosts(t *testing.T, nodes []cluster.Node) {
	t.Helper()
	seen := map[string]bool{}
	for _, n := range nodes {
		if seen[n.Host] || !strings.HasPrefix(n.Host, "127.") || n.Host == "127.0.0.1" || n.Port != nodes[0].Port || n.Addr != fmt.Sprint(n.Host, ":", n.Port) {
			t.Errorf("%+v among %+v", n, nodes)
		}
		seen[n.Host] = true
	}
}

// succeedStandalone takes the primary down, promotes a replica, replaces the old
// primary, and adds and removes a replica.
func succeedStandalone(t *testing.T, c *cluster.Cluster, hang bool) {
	t.Helper()
	ctx := t.Context()
	old := c.Nodes()[0]
	if err := client(t, old.Addr).Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return client(t, c.Nodes()[2].Addr).Get(ctx, "k").Err() })
	takeDown(t, c, old.ID, hang)
	wantTopology(t, c, "0001  [lb-002 lb-003] []")
	heir, err := c.BestReplica(ctx, "0001")
	if err != nil {
		t.Fatal(err)
	}
	timed(t, "promote", func() error { return errors.Join(c.Freeze(ctx, "0001", true), c.Promote(ctx, heir)) })
	timed(t, "replace", func() error { return c.Replace(ctx, old.ID) })
	timed(t, "add replica", func() error { return c.AddReplica(ctx, "lb-004") })
	replicas := slices.DeleteFunc([]string{"lb-001", "lb-002", "lb-003", "lb-004"}, func(id string) bool { return id == heir })
	for _, id := range replicas {
		eventually(t, func() error { return hasRole(t, nodeCalled(t, c, id).Addr, "replica", "up") })
	}
	wantTopology(t, c, fmt.Sprint("0001 ", heir, " ", replicas, " []"))
	for _, n := range c.Nodes() {
		if n.Primary != (n.ID == heir) || dbsize(t, c, n.Addr) != 1 {
			t.Errorf("%+v has %d keys", n, dbsize(t, c, n.Addr))
		}
	}
	timed(t, "reboot", func() error { return c.Reboot(ctx, old.ID) })
	timed(t, "remove replica", func() error { return c.Remove(ctx, "lb-004", 300*time.Millisecond, time.Minute) })
	if err := c.Remove(ctx, heir, 0, 0); err == nil {
		t.Error("a primary can be removed")
	}
}

func TestShardsNeedClusterMode(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{Standalone: true})
	if _, err := c.AddShard(t.Context(), "0002", 0); err == nil {
		t.Error("a shard can be added")
	}
	if err := c.Move(t.Context(), "0001", "0002", 1, nil); err == nil {
		t.Error("slots can be moved")
	}
	if err := c.RemoveShard(t.Context(), "0001", 0, 0); err == nil {
		t.Error("the shard can be removed")
	}
}

func TestOwnHostsNeedStandalone(t *testing.T) {
	t.Parallel()
	if err := (cluster.Options{OwnHosts: true}).Validate(); err == nil || !strings.Contains(err.Error(), "standalone") {
		t.Errorf("error %v", err)
	}
}
