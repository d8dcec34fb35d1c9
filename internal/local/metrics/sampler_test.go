//go:build unix

package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/local/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits for what takes a second or two; it is used up only where
// something is broken, or the machine is overloaded.
const patience = 30 * time.Second

func eventually(t *testing.T, check func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("after %v: %v", patience, err)
		}
	}
}

// client has timeouts far longer than a sample may take: it is the sampler that
// has to see to it.
func client(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, Protocol: 2, ReadTimeout: time.Hour, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// watched is a cluster and its metrics.
type watched struct {
	*metrics.Store
	cluster *cluster.Cluster
	began   time.Time

	mu   sync.Mutex
	gone map[string]bool // nodes that are not to be asked
}

func watch(t *testing.T, o cluster.Options) *watched {
	t.Helper()
	w := &watched{cluster: clustertest.Start(t, o), began: time.Now(), gone: map[string]bool{}}
	w.Store = metrics.Start(t.Context(), metrics.Options{Nodes: w.nodes, Client: client, Every: 200 * time.Millisecond})
	t.Cleanup(w.Stop)
	for _, n := range w.cluster.Nodes() {
		w.await(t, n.ID, "SetTypeCmds", 0)
	}
	return w
}

func (w *watched) nodes() []metrics.Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []metrics.Node
	for _, n := range w.cluster.Nodes() {
		if !w.gone[n.ID] {
			out = append(out, metrics.Node{CacheClusterID: n.ID, Addr: n.Addr})
		}
	}
	return out
}

func (w *watched) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[id] = true
}

// points are all of a node's seconds.
func (w *watched) points(t *testing.T, id, name string) []metrics.Point {
	t.Helper()
	points, err := w.Points(metrics.Query{
		Name: name, CacheClusterID: id, From: w.began.Add(-time.Minute), To: time.Now().Add(time.Minute), Period: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func (w *watched) sum(t *testing.T, id, name string) (sum float64) {
	t.Helper()
	for _, p := range w.points(t, id, name) {
		if p.Sum < 0 {
			t.Errorf("%s of %s: %v at %v", name, id, p.Sum, p.Start)
		}
		sum += p.Sum
	}
	return sum
}

// await waits until the node's values add up to what is wanted.
func (w *watched) await(t *testing.T, id, name string, want float64) {
	t.Helper()
	eventually(t, func() error {
		points := w.points(t, id, name)
		if got := w.sum(t, id, name); len(points) == 0 || got != want {
			return fmt.Errorf("%s of %s: %v in %d points, want %v", name, id, got, len(points), want)
		}
		return nil
	})
}

// last waits for a value of a second that has just begun, and returns it.
func (w *watched) last(t *testing.T, id, name string) (value float64) {
	t.Helper()
	since := time.Now().Truncate(time.Second)
	eventually(t, func() error {
		points := w.points(t, id, name)
		if len(points) == 0 || points[len(points)-1].Start.Before(since) {
			return fmt.Errorf("no value of %s for %s", name, id)
		}
		value = points[len(points)-1].Maximum
		return nil
	})
	return value
}

func direct(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := client(addr)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// info is one figure of INFO, or of a command's line in it.
func info(t *testing.T, c *redis.Client, name string) float64 {
	t.Helper()
	text, err := c.Info(t.Context(), "everything").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimPrefix(value, "calls=")
		value, _, _ = strings.Cut(value, ",")
		if x, err := strconv.ParseFloat(value, 64); err == nil && key == name {
			return x
		}
	}
	t.Fatalf("no %s in INFO", name)
	return 0
}

// run runs commands, each so many times.
func run(t *testing.T, c *redis.Client, times int, commands ...string) {
	t.Helper()
	for range times {
		for _, command := range commands {
			var args []any
			for word := range strings.FieldsSeq(command) {
				args = append(args, word)
			}
			if err := c.Do(t.Context(), args...).Err(); err != nil && !errors.Is(err, redis.Nil) {
				t.Fatalf("%s: %v", command, err)
			}
		}
	}
}

func TestTheValuesAreTheServersOwn(t *testing.T) {
	w := watch(t, cluster.Options{Standalone: true})
	node := w.cluster.Nodes()[0]
	c := direct(t, node.Addr)
	hits, misses := info(t, c, "keyspace_hits"), info(t, c, "keyspace_misses")
	run(t, c, 7, "zadd board 1 a", "zadd board 2 b")
	run(t, c, 5, "zscore board a", "zcount board 0 9", "get nothing", "hset h f v")
	run(t, c, 3, "zrevrange board 0 1", "hget h f", "set s v")
	run(t, c, 1, "del s", "exists board", "config get maxmemory")
	for name, want := range map[string]float64{
		"SetTypeCmds": 14 + 5 + 3 + 1, "GetTypeCmds": 15 + 6 + 1, "SortedSetBasedCmds": 14 + 10 + 3,
		"HashBasedCmds": 8, "StringBasedCmds": 8, "KeyBasedCmds": 2, "Evictions": 0, "Reclaimed": 0,
	} {
		w.await(t, node.ID, name, want)
	}
	if got := info(t, c, "cmdstat_zadd") + info(t, c, "cmdstat_zscore") + info(t, c, "cmdstat_zcount") + info(t, c, "cmdstat_zrevrange"); got != 27 {
		t.Errorf("the server counts %v commands on sorted sets", got)
	}
	w.await(t, node.ID, "CacheHits", info(t, c, "keyspace_hits")-hits)
	w.await(t, node.ID, "CacheMisses", info(t, c, "keyspace_misses")-misses)
	for name, want := range map[string]float64{
		"IsMaster": 1, "CurrItems": 2, "CurrConnections": 2, // the sampler's and this test's
	} {
		if got := w.last(t, node.ID, name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	w.checkPlausible(t, node.ID, c)
}

// checkPlausible looks at what cannot be foretold.
func (w *watched) checkPlausible(t *testing.T, id string, c *redis.Client) {
	t.Helper()
	used := info(t, c, "used_memory")
	if got := w.last(t, id, "BytesUsedForCache"); math.Abs(got-used) > used/5 {
		t.Errorf("BytesUsedForCache %v, INFO says %v", got, used)
	}
	if got := w.last(t, id, "EngineCPUUtilization"); got <= 0 || got > 100 {
		t.Errorf("EngineCPUUtilization %v", got)
	}
	if latency := w.points(t, id, "SortedSetBasedCmdsLatency"); len(latency) == 0 || latency[0].Sum <= 0 || latency[0].Sum > 1e4 {
		t.Errorf("SortedSetBasedCmdsLatency %v", latency)
	}
	for _, absent := range []string{"ReplicationLag", "MasterLinkHealthStatus", "DatabaseMemoryUsagePercentage"} {
		if got := w.points(t, id, absent); len(got) > 0 {
			t.Errorf("%s of a primary without maxmemory: %v", absent, got)
		}
	}
}

// TestABusyEngineIsBusy: the CPU that the server says it used, as percent of the time.
func TestABusyEngineIsBusy(t *testing.T) {
	w := watch(t, cluster.Options{Standalone: true})
	node := w.cluster.Nodes()[0]
	c := direct(t, node.Addr)
	begin := time.Now()
	for time.Since(begin) < 2500*time.Millisecond {
		if err := c.Eval(t.Context(), "for i=1,300000 do end return 1", nil).Err(); err != nil {
			t.Fatal(err)
		}
	}
	middle := begin.Truncate(time.Second).Add(time.Second)
	found := false
	for _, p := range w.points(t, node.ID, "EngineCPUUtilization") {
		if p.Start.Equal(middle) {
			found = true
			if p.Maximum < 20 || p.Maximum > 101 {
				t.Errorf("%v %% in a second of work", p.Maximum)
			}
		}
	}
	if !found {
		t.Error("no value for the second of work")
	}
}

// TestReplicationShowsOnBothSides: the network's bytes have it in them, on Redis 7 too, which counts it apart.
func TestReplicationShowsOnBothSides(t *testing.T) {
	w := watch(t, cluster.Options{Standalone: true, Replicas: 1})
	primary, replica := w.cluster.Nodes()[0], w.cluster.Nodes()[1]
	c := direct(t, primary.Addr)
	const size = 1 << 20
	if err := c.Set(t.Context(), "big", strings.Repeat("x", size), 0).Err(); err != nil {
		t.Fatal(err)
	}
	for id, name := range map[string]string{primary.ID: "ReplicationBytes", replica.ID: "NetworkBytesIn"} {
		eventually(t, func() error {
			if got := w.sum(t, id, name); got < size || got > size+1e5 {
				return fmt.Errorf("%s of %s: %v", name, id, got)
			}
			return nil
		})
	}
	if got := w.sum(t, primary.ID, "NetworkBytesOut"); got < size {
		t.Errorf("NetworkBytesOut of the primary: %v", got)
	}
	if got := w.points(t, replica.ID, "ReplicationBytes"); len(got) > 0 {
		t.Errorf("ReplicationBytes of the replica: %v", got)
	}
	if link, lag, role := w.last(t, replica.ID, "MasterLinkHealthStatus"), w.last(t, replica.ID, "ReplicationLag"), w.last(t, replica.ID, "IsMaster"); link != 1 || lag > 2 || role != 0 {
		t.Errorf("replica: link %v, lag %v, primary %v", link, lag, role)
	}
	w.await(t, replica.ID, "SetTypeCmds", 1) // the replicated SET
}

func TestALostPrimaryShowsOnTheReplica(t *testing.T) {
	w := watch(t, cluster.Options{Standalone: true, Replicas: 1})
	primary, replica := w.cluster.Nodes()[0], w.cluster.Nodes()[1]
	if err := w.cluster.Kill(primary.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if link, lag := w.last(t, replica.ID, "MasterLinkHealthStatus"), w.last(t, replica.ID, "ReplicationLag"); link != 0 || lag < 2 {
			return fmt.Errorf("link %v, lag %v", link, lag)
		}
		return nil
	})
}

func TestARestartedServerBeginsAnew(t *testing.T) {
	w := watch(t, cluster.Options{Standalone: true})
	node := w.cluster.Nodes()[0]
	run(t, direct(t, node.Addr), 100, "zadd board 1 a")
	w.await(t, node.ID, "SetTypeCmds", 100)
	if err := w.cluster.Kill(node.ID); err != nil {
		t.Fatal(err)
	}
	if err := w.cluster.Restart(t.Context(), node.ID); err != nil {
		t.Fatal(err)
	}
	run(t, direct(t, node.Addr), 30, "zadd board 1 a")
	w.await(t, node.ID, "SetTypeCmds", 130)
	for _, m := range w.Metrics() {
		w.sum(t, node.ID, m.Name) // fails for what is negative
	}
}

// TestAHungNodeHasNoValuesAndHoldsUpNobody: seconds in which it was stopped all
// through have no point of it, and one of the other node.
func TestAHungNodeHasNoValuesAndHoldsUpNobody(t *testing.T) {
	w := watch(t, cluster.Options{Standalone: true, Replicas: 1})
	hung, other := w.cluster.Nodes()[1], w.cluster.Nodes()[0]
	c := direct(t, other.Addr)
	if err := w.cluster.Signal(hung.ID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	run(t, c, 40, "zincrby board 1 a")
	until := stopped.Truncate(time.Second).Add(4 * time.Second)
	eventually(t, func() error {
		if points := w.points(t, other.ID, "IsMaster"); !points[len(points)-1].Start.After(until) {
			return fmt.Errorf("the other node: %v", points)
		}
		return nil
	})
	if err := w.cluster.Signal(hung.ID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.await(t, hung.ID, "SetTypeCmds", 40) // nothing is lost
	w.checkGap(t, hung.ID, other.ID, stopped.Truncate(time.Second).Add(time.Second), until)
}

func (w *watched) checkGap(t *testing.T, hung, other string, from, to time.Time) {
	t.Helper()
	within := func(id string) (n int) {
		for _, p := range w.points(t, id, "CurrConnections") {
			if !p.Start.Before(from) && p.Start.Before(to) {
				n++
			}
		}
		return n
	}
	if n := within(hung); n != 0 {
		t.Errorf("%d values of a node that was stopped", n)
	}
	if n := within(other); n != int(to.Sub(from)/time.Second) {
		t.Errorf("%d values of the other node in %v", n, to.Sub(from))
	}
}

func TestANodeThatIsRemovedIsAskedNoMore(t *testing.T) {
	w := watch(t, cluster.Options{Standalone: true, Replicas: 1})
	stays, goes := w.cluster.Nodes()[0], w.cluster.Nodes()[1]
	c := direct(t, goes.Addr)
	w.remove(goes.ID)
	eventually(t, func() error {
		if n := info(t, c, "connected_clients"); n != 2 { // the primary's, and this one
			return fmt.Errorf("%v connections", n)
		}
		return nil
	})
	before := len(w.points(t, goes.ID, "IsMaster"))
	w.last(t, stays.ID, "IsMaster")
	if now := len(w.points(t, goes.ID, "IsMaster")); now != before || before == 0 {
		t.Errorf("%d values, then %d", before, now)
	}
}

func TestStopEndsWhatWaits(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true})
	node := c.Nodes()[0]
	ctx, cancel := context.WithCancel(t.Context())
	for _, end := range []func(*metrics.Store){(*metrics.Store).Stop, func(s *metrics.Store) { cancel(); s.Stop() }} {
		asked := make(chan struct{}, 100)
		s := metrics.Start(ctx, metrics.Options{
			Nodes:  func() []metrics.Node { return []metrics.Node{{CacheClusterID: "a", Addr: node.Addr}} },
			Client: func(addr string) *redis.Client { asked <- struct{}{}; return client(addr) },
		})
		<-asked
		if err := c.Signal(node.ID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		end(s)
		if err := c.Signal(node.ID, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkSample is what one node's answer costs, reading it left out: time, and
// the CPU that the server needs to write it.
func BenchmarkSample(b *testing.B) {
	c := clustertest.Start(b, cluster.Options{Standalone: true})
	rdb := client(c.Addrs()[0])
	defer rdb.Close()
	var text string
	for b.Loop() {
		var err error
		if text, err = rdb.Info(b.Context(), "everything").Result(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(text)), "B/answer")
}
