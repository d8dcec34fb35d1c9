//go:build unix

package observe_test

import (
	"context"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/observe"
	"github.com/rankbench/rankbench/internal/result"
)

// watched collects what Watch tells.
type watched struct {
	mu     sync.Mutex
	events []result.Event
	rounds int
}

func (w *watched) sample([]result.NodeSample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rounds++
}

func (w *watched) event(e result.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// has says whether a message of subject began so.
func (w *watched) has(subject, prefix string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.events, func(e result.Event) bool {
		return e.Subject == subject && strings.HasPrefix(e.Message, prefix)
	})
}

func (w *watched) hasRounds() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rounds > 0
}

func (w *watched) await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(patience); !ok(); {
		select {
		case <-tick.C:
		case <-end:
			w.mu.Lock()
			defer w.mu.Unlock()
			t.Fatalf("no event %q; events: %+v", what, w.events)
		}
	}
}

func watch(t *testing.T, obs *observe.Observer, every time.Duration) *watched {
	t.Helper()
	w := &watched{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		obs.Watch(ctx, every, clock(), w.sample, w.event)
	}()
	t.Cleanup(func() { cancel(); <-done })
	w.await(t, "the first round", w.hasRounds)
	return w
}

func TestKilledPrimaryIsToldFromDeathToReturn(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Shards: 3, Replicas: 1})
	obs := newObserver(t, observe.Options{Seeds: c.Addrs()[:2], Cluster: true, Name: namer(c)})
	until(t, obs, func(s []result.NodeSample) bool { return len(s) == 6 && allUp(s) })
	w := watch(t, obs, 20*time.Millisecond)
	must(t, c.Kill("lb-0001-001"))
	for _, want := range [][2]string{
		{"lb-0001-001", "unreachable: re"}, // refused, or reset where it died while asked
		{"lb-0001-002", "replication link down"},
		{"lb-0001-002", "is primary (was lb-0001-001)"},
	} {
		w.await(t, strings.Join(want[:], " "), func() bool { return w.has(want[0], want[1]) })
	}
	must(t, c.Restart(t.Context(), "lb-0001-001"))
	for _, message := range []string{"reachable again after ", "restarted", "is replica of lb-0001-002"} {
		w.await(t, message, func() bool { return w.has("lb-0001-001", message) })
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if strings.HasPrefix(e.Subject, "lb-0002") || strings.HasPrefix(e.Subject, "lb-0003") {
			t.Errorf("nothing happened to %+v", e)
		}
	}
}

func TestNewReplicaJoinsWithoutCluster(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 1})
	other := clustertest.Start(t, cluster.Options{Standalone: true, Group: "other"})
	obs := newObserver(t, observe.Options{Seeds: c.Addrs()[:1]})
	until(t, obs, func(s []result.NodeSample) bool { return len(s) == 2 && allUp(s) })
	w := watch(t, obs, 20*time.Millisecond)
	host, port, _ := net.SplitHostPort(c.Addrs()[0])
	joins := clientOf(t, other.Addrs()[0], "")
	for _, ofItsOwnCluster := range []string{"masteruser", "masterauth"} {
		must(t, joins.ConfigSet(t.Context(), ofItsOwnCluster, "").Err())
	}
	must(t, joins.SlaveOf(t.Context(), host, port).Err())
	w.await(t, "joined", func() bool { return w.has(other.Addrs()[0], "joined the topology as replica of "+c.Addrs()[0]) })
}

// learning is a namer that learns, and forgets nothing.
type learning struct {
	mu  sync.Mutex
	ids map[string]string
}

func (l *learning) learn(c *cluster.Cluster) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range c.Nodes() {
		l.ids[n.Addr] = n.ID
	}
}

func (l *learning) name(addr string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ids[addr]
}

// messages are those whose subject is an id or one of the addresses of a node.
func (w *watched) messages(subjects ...string) (messages []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if slices.Contains(subjects, e.Subject) {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

func TestLearningANameIsNeitherAJoinNorALeave(t *testing.T) {
	c, names := clustertest.Start(t, cluster.Options{Shards: 1, Replicas: 1}), &learning{ids: map[string]string{}}
	names.learn(c)
	obs := newObserver(t, observe.Options{Seeds: c.Addrs()[:1], Cluster: true, Name: names.name})
	until(t, obs, func(s []result.NodeSample) bool { return len(s) == 2 && allUp(s) })
	w := watch(t, obs, 20*time.Millisecond)
	add := func() (addr string) {
		must(t, c.AddReplica(t.Context(), "lb-0001-003"))
		addr = c.Addrs()[2]
		w.await(t, "joined", func() bool { return w.has(addr, "joined the topology as replica of lb-0001-001") })
		names.learn(c)
		w.await(t, "named", func() bool { return w.has(addr, "is lb-0001-003") })
		return addr
	}
	first := add()
	must(t, c.Remove(t.Context(), "lb-0001-003", 0, 0))
	for _, message := range []string{"left the topology", "unreachable: "} {
		w.await(t, message, func() bool { return w.has("lb-0001-003", message) })
	}
	second := add() // the id is that of the one before, which is shown for a minute
	w.await(t, "restarted", func() bool { return w.has("lb-0001-003", "restarted") })
	times := map[string]int{}
	for _, m := range w.messages("lb-0001-003", first, second) {
		words := strings.Fields(m)
		times[words[0]]++
	}
	if want := map[string]int{"joined": 2, "is": 2, "left": 1, "unreachable:": 1, "reachable": 1, "restarted": 1}; !maps.Equal(times, want) {
		t.Errorf("%q", w.messages("lb-0001-003", first, second))
	}
}

func TestWatchEndsWithItsContextAlsoDuringAHang(t *testing.T) {
	silent := listener(t)
	obs := newObserver(t, observe.Options{Seeds: []string{silent.Addr().String()}, Timeout: 200 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	w := &watched{}
	obs.Watch(ctx, time.Millisecond, clock(), w.sample, w.event)
	if w.rounds != 0 || len(w.events) != 0 {
		t.Errorf("a round that was cut short was told: %d rounds, %v", w.rounds, w.events)
	}
}
