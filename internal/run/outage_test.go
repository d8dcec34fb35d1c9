package run_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/run"
)

const outageScenario = `
name: outage
ranking: { key: outage, members: 1_000 }
phases:
  - name: mixed
    duration: 45s # at most: the test ends it when it has seen enough
    ops:
      set: { workers: 4 }
      get: { rate: 200 }
`

// broken are the classes that a dead primary and the failover after it may give.
var broken = []string{"refused", "reset", "timeout", "clusterdown", "moved", "readonly", "loading"}

// drama kills a node when the load runs, and ends the run when its operations
// have failed and work again.
type drama struct {
	t       *testing.T
	kill    func()
	end     context.CancelFunc
	killed  time.Time
	failed  bool
	healthy int // lines without an error, after that
}

// see reads a line such as "19:00:20 mixed set  rps=24512.3  p50=… errors=212 refused=200".
func (d *drama) see(line string) {
	d.t.Log(line)
	if !strings.Contains(line, " set ") {
		return
	}
	fine := strings.HasSuffix(line, " errors=0") && !strings.Contains(line, "rps=0.0 ")
	switch {
	case fine && d.killed.IsZero():
		d.killed = time.Now()
		d.kill()
	case !fine:
		d.failed, d.healthy = true, 0
	case d.failed:
		if d.healthy++; d.healthy == 2 {
			d.end()
		}
	}
}

// TestKilledPrimaryShowsAsOutage: kill -9 of the primary that owns the key, in
// mid-load.
func TestKilledPrimaryShowsAsOutage(t *testing.T) {
	const nodeTimeout = time.Second
	c := clustertest.Start(t, cluster.Options{Shards: 3, Replicas: 1, FullCoverage: true, NodeTimeout: nodeTimeout})
	o := options(t, parse(t, outageScenario), c)
	fill(t, o)
	primary, replica := ownerOf(t, c, "outage")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d := &drama{t: t, end: cancel, kill: func() {
		if err := c.Kill(primary.ID); err != nil {
			t.Error(err)
		}
	}}
	o.Lines = &watcher{see: d.see}
	s, _, err := run.Load(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if !d.failed || d.healthy < 2 {
		t.Fatalf("failed %t, then %d healthy seconds: it did not recover in 45 s", d.failed, d.healthy)
	}
	if !s.Interrupted || !s.Complete {
		t.Errorf("interrupted %t, complete %t", s.Interrupted, s.Complete)
	}
	expectAccounted(t, s)
	expectOutage(t, s, d.killed.Sub(s.Started).Seconds(), nodeTimeout.Seconds())
	expectFailoverSeen(t, s, primary, replica)
}

func expectOutage(t *testing.T, s result.Summary, killedAt, nodeTimeout float64) {
	t.Helper()
	i := slices.IndexFunc(s.Outages, func(o result.Outage) bool {
		return o.Op == "set" && o.FromS <= killedAt+1 && o.ToS > killedAt
	})
	if i < 0 {
		t.Fatalf("killed at %.2f s, outages %+v", killedAt, s.Outages)
	}
	o := s.Outages[i]
	t.Logf("killed at %.2f s, outage %+v", killedAt, o)
	// Four workers have a success every few milliseconds until the kill, which
	// returns when the process is gone: a second either way is for a busy machine.
	if o.FromS < killedAt-1 {
		t.Errorf("it began at %.2f s, killed was at %.2f s", o.FromS, killedAt)
	}
	// Nobody is elected before the others miss the node: a node timeout after
	// its last answer, which is half a timeout old at most.
	if o.DurationS < nodeTimeout/2 || math.Abs(o.DurationS-(o.ToS-o.FromS)) > 1e-6 || o.Open { // but for rounding
		t.Errorf("it lasted %.2f s (open: %t)", o.DurationS, o.Open)
	}
	if len(o.Errors) == 0 {
		t.Error("it has no errors")
	}
	for class, n := range o.Errors {
		if !slices.Contains(broken, class) || n == 0 || n > s.Phases[0].Ops["set"].Errors[class] {
			t.Errorf("%d errors of class %s, of %d", n, class, s.Phases[0].Ops["set"].Errors[class])
		}
	}
	if s.Phases[0].ToS-o.ToS < 1 {
		t.Errorf("it recovered at %.2f s, the run ended at %.2f s", o.ToS, s.Phases[0].ToS)
	}
}

func expectFailoverSeen(t *testing.T, s result.Summary, primary, replica cluster.Node) {
	t.Helper()
	for _, want := range []struct{ subject, message string }{
		{primary.ID, "unreachable"},
		{replica.ID, "is primary (was " + primary.ID + ")"},
	} {
		if !slices.ContainsFunc(s.Events, func(e result.Event) bool {
			return e.Subject == want.subject && strings.Contains(e.Message, want.message)
		}) {
			t.Errorf("no event says that %s %s: %+v", want.subject, want.message, s.Events)
		}
	}
	for _, n := range s.Nodes {
		switch last := n.Roles[len(n.Roles)-1].Role; n.ID {
		case primary.ID:
			if last != "unreachable" || n.UnreachableS <= 0 {
				t.Errorf("%s: roles %+v, %.1f s unreachable", n.ID, n.Roles, n.UnreachableS)
			}
		case replica.ID:
			if last != "primary" || n.Commands["zadd"] == 0 {
				t.Errorf("%s: roles %+v, %d zadd", n.ID, n.Roles, n.Commands["zadd"])
			}
		}
	}
}

// ownerOf are the nodes built as primary and replica of the key's slot.
func ownerOf(t *testing.T, c *cluster.Cluster, key string) (primary, replica cluster.Node) {
	t.Helper()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs(), DisableIdentity: true})
	defer rdb.Close()
	owner, err := rdb.MasterForKey(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	nodes := c.Nodes()
	at := slices.IndexFunc(nodes, func(n cluster.Node) bool { return n.Addr == owner.Options().Addr })
	return nodes[at], nodes[at+1] // one replica each, after its primary
}
