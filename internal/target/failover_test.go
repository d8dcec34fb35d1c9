package target_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/target"
)

// recoversWithin bounds a failover: about 2 s of node timeout, an election of 1
// to 2 s (6 s where the first one fails), the driver's reload of 1 s. The rest
// is for a machine that runs many tests at once.
const recoversWithin = 30 * time.Second

// broken are the classes that a dead node or a cluster in mid-failover gives.
var broken = []load.Class{load.Refused, load.Reset, load.Timeout, load.ClusterDown, load.Moved, load.ReadOnly, load.Loading}

// owner is the node that was built as the primary of the key's slot.
func owner(t *testing.T, c *cluster.Cluster, key string) (primary cluster.Node, replicas []cluster.Node) {
	t.Helper()
	first := direct(t, c.Addrs()[0], "")
	slot, err := first.ClusterKeySlot(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	ranges, err := first.ClusterSlots(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ranges {
		if int64(r.Start) <= slot && slot <= int64(r.End) {
			for i, n := range r.Nodes {
				at := slices.IndexFunc(c.Nodes(), func(x cluster.Node) bool { return x.Addr == n.Addr })
				if i == 0 {
					primary = c.Nodes()[at]
				} else {
					replicas = append(replicas, c.Nodes()[at])
				}
			}
		}
	}
	return primary, replicas
}

// allOps are one operation of each kind on the model's members.
func allOps(m model) []ranking.Op {
	var names []string
	for _, r := range m.rows()[:5] {
		names = append(names, r.member)
	}
	return []ranking.Op{
		{Kind: ranking.Set, Member: names[0], Score: m[names[0]]},
		{Kind: ranking.Get, Member: names[1]},
		{Kind: ranking.Find, Members: names, Count: len(names)},
		{Kind: ranking.FindByOrder, Count: 5},
	}
}

// TestTunedClientRecoversFromAKilledPrimary: every operation fails with a class
// that says why, or goes on, and after the election all of them work again.
func TestTunedClientRecoversFromAKilledPrimary(t *testing.T) {
	t.Parallel()
	const key = "failover"
	c := clustertest.Start(t, cluster.Options{Shards: 3, Replicas: 1, FullCoverage: true})
	primary, replicas := owner(t, c, key)
	all := directs(t, c)
	m := newModel(t, key, all[primary.Addr], pick(all, primary.Addr, replicas[0].Addr))
	client := open(t, config.ForAddresses(c.Addrs()), key, 4)
	w := client.Worker(0)
	ops := allOps(m)
	for _, op := range ops {
		do(t, w, op)
	}

	if err := c.Kill(primary.ID); err != nil {
		t.Fatal(err)
	}
	failed := map[ranking.Kind]int{}
	eventually(t, recoversWithin, func() error {
		var errs []error
		for _, op := range ops {
			_, err := w.Do(t.Context(), &op)
			if err == nil {
				continue
			}
			if class := target.Classify(err); !slices.Contains(broken, class) {
				t.Errorf("%v failed with class %v: %v", op.Kind, class, err)
			}
			failed[op.Kind]++
			errs = append(errs, fmt.Errorf("%v: %w", op.Kind, err))
		}
		return errors.Join(errs...)
	})
	if failed[ranking.Set] == 0 {
		t.Error("no Set failed, though its primary was dead")
	}
	drivers := client.Drivers()
	if d := drivers[primary.Addr]; d.Errors == 0 || d.Attempts < d.Errors {
		t.Errorf("on the dead primary the driver counts %+v, want errors among its attempts", d)
	}
	before := drivers[replicas[0].Addr].Attempts
	for _, op := range ops {
		do(t, w, op)
	}
	if after := client.Drivers()[replicas[0].Addr].Attempts; after <= before {
		t.Errorf("the new primary has got %d commands, %d before", after, before)
	}
}

func pick[T any](m map[string]T, keys ...string) map[string]T {
	out := map[string]T{}
	for _, k := range keys {
		out[k] = m[k]
	}
	return out
}

// TestReadsGoOnWhenAReplicaDies: the driver tries the other one; no operation fails.
func TestReadsGoOnWhenAReplicaDies(t *testing.T) {
	t.Parallel()
	const key = "replica-dies"
	s := startServers(t, cluster.Options{Replicas: 2})
	m := newModel(t, key, s.primary, s.all)
	client := open(t, config.ForAddresses(s.addrs), key, 1)
	w := client.Worker(0)
	reads := allOps(m)[1:]
	round := func() {
		for _, op := range reads {
			do(t, w, op)
		}
	}
	dead := s.cluster.Nodes()[1]
	for range 50 { // so that there are connections to both replicas, to be broken
		round()
	}
	if err := s.cluster.Kill(dead.ID); err != nil {
		t.Fatal(err)
	}
	// Until the driver has met the dead node, or 1,000 rounds: each takes
	// a replica at random for four or more times.
	for range 1000 {
		round()
		if client.Drivers()[dead.Addr].Errors > 0 {
			break
		}
	}
	if client.Drivers()[dead.Addr].Errors == 0 {
		t.Error("the driver has not met the dead replica")
	}
	for range 200 {
		round()
	}
}

// TestStandaloneClientRecoversWhenItsServerIsBack: ElastiCache replaces a
// single node under its name; the data is gone, which shows as Missing.
func TestStandaloneClientRecoversWhenItsServerIsBack(t *testing.T) {
	t.Parallel()
	const key = "replaced"
	s := startServers(t, cluster.Options{Standalone: true})
	m := newModel(t, key, s.primary, s.all)
	w := open(t, s.config(kind{config.Standalone, config.Replica, config.Tuned}), key, 1).Worker(0)
	ops := allOps(m)
	do(t, w, ops[0])
	id := s.cluster.Nodes()[0].ID
	if err := s.cluster.Kill(id); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Do(t.Context(), &ops[0]); !slices.Contains(broken, target.Classify(err)) {
		t.Errorf("dead: %v has class %v", err, target.Classify(err))
	}
	if err := s.cluster.Restart(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	eventually(t, recoversWithin, func() error {
		_, err := w.Do(t.Context(), &ops[0])
		return err
	})
	if _, err := w.Do(t.Context(), &ops[1]); target.Classify(err) != load.Missing {
		t.Errorf("get of a member that is gone: %v, want class missing", err)
	}
}
