package action_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/action"
	"github.com/rankbench/rankbench/internal/scenario"
)

// TestClusterModeDisabled: nodes say IP addresses where ElastiCache says names, so
// that all of this goes through Names.
func TestClusterModeDisabled(t *testing.T) {
	x := open(t, shape{disabled: true, shards: 1, replicas: 2, timings: map[string]time.Duration{"reboot": 500 * time.Millisecond}})
	t.Run("names", x.names)
	t.Run("reboot of a replica", func(t *testing.T) {
		before := x.pid("lb-002")
		x.restore(x.done(scenario.Step{Kind: scenario.Reboot, Role: "replica"}))
		if now := x.pid("lb-002"); now == before || x.events("lb-002: Cache node 0001 restarted") != 1 {
			t.Errorf("process %d, was %d; events %v", now, before, x.all())
		}
		x.expect("0001: 3")
	})
	t.Run("reboot without events", func(t *testing.T) {
		x.weather.set(func(w *weather) { w.edit = without("restarted") })
		x.env.Late = time.Second
		before := x.pid("lb-001")
		x.done(scenario.Step{Kind: scenario.Reboot, Nodes: []string{"lb-001"}})
		x.weather.set(func(w *weather) { w.edit = nil })
		x.env.Late = 0
		if now := x.pid("lb-001"); now == before || x.noted("no event has told that lb-001 is restarted") != 1 {
			t.Errorf("process %d, was %d; notes %q", now, before, x.said())
		}
		x.expect("0001: 3")
	})
	t.Run("failover", func(t *testing.T) {
		x.done(scenario.Step{Kind: scenario.TestFailover})
		x.expect("0001: 3")
		if p := x.primary("0001"); p == "lb-001" || x.events("lb-001: Finished recovery") != 1 {
			t.Errorf("primary %s", p)
		}
	})
	t.Run("replicas", func(t *testing.T) {
		x.restore(x.done(scenario.Step{Kind: scenario.IncreaseReplicas, Count: 3, Restore: true}))
		x.expect("0001: 3")
	})
	t.Run("shards", x.noShards)
}

func (x *site) noShards(t *testing.T) {
	a := x.action(scenario.Step{Kind: scenario.AddShards, Count: 2, Restore: true})
	if text := safe(t, a.Start(t.Context())); !strings.Contains(text, "cluster mode disabled") {
		t.Errorf("error %s", text)
	}
	x.restore(a)
}

// names: every node is known by its name and by the address it leads to, the
// endpoints are nobody's, and a new node is learned soon, with few questions.
func (x *site) names(t *testing.T) {
	s, err := x.local.State()
	must(t, err)
	n := action.NewNames(x.env.AWS, "lb", resolver(s.Resolver))
	if got := n.Of(s.Nodes[0].Addr); got != "" {
		t.Errorf("known before anything was learned: %s", got)
	}
	must(t, n.Learn(t.Context()))
	g, err := x.env.AWS.Group(t.Context(), "lb")
	must(t, err)
	for i, m := range g.Members() {
		if host, _, _ := net.SplitHostPort(m.Addr); net.ParseIP(host) != nil || n.Of(m.Addr) != m.ID || n.Of(s.Nodes[i].Addr) != m.ID {
			t.Errorf("%s: %q and %s: %q, want %s", m.Addr, n.Of(m.Addr), s.Nodes[i].Addr, n.Of(s.Nodes[i].Addr), m.ID)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); n.Run(ctx, 300*time.Millisecond) }()
	defer func() { cancel(); <-ended }()

	x.weather.set(func(w *weather) { w.count = map[string]int{} })
	for _, endpoint := range []string{s.Primary, s.Reader} {
		if got := n.Of(endpoint); got != "" {
			t.Errorf("the endpoint %s is said to be %s", endpoint, got)
		}
	}
	began := time.Now()
	for range 1000 {
		n.Of("127.0.0.1:1") // waits for nothing
	}
	if took := time.Since(began); took > 100*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	x.newNode(t, n)
}

// newNode is learned soon.
func (x *site) newNode(t *testing.T, n *action.Names) {
	t.Helper()
	x.done(scenario.Step{Kind: scenario.IncreaseReplicas, Count: 3})
	eventually(t, func() error {
		s, err := x.local.State()
		for _, node := range s.Nodes {
			if got := n.Of(node.Addr); got != node.ID {
				err = errors.Join(err, fmt.Errorf("%s: %q, want %s", node.Addr, got, node.ID))
			}
		}
		return err
	})
	x.done(scenario.Step{Kind: scenario.DecreaseReplicas, Count: 2})
}

// TestNamesAreFew: an address that stays unknown is not asked about all the time.
func TestNamesAreFew(t *testing.T) {
	x := open(t, shape{shards: 1, replicas: 0})
	n := action.NewNames(x.env.AWS, "lb", nil)
	must(t, n.Learn(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	ended := make(chan struct{})
	x.weather.set(func(w *weather) { w.count = map[string]int{} })
	go func() { defer close(ended); n.Run(ctx, 300*time.Millisecond) }()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		n.Of("127.0.0.1:1")
		<-tick.C
	}
	<-ended
	if asked := x.weather.asked("DescribeReplicationGroups"); asked < 1 || asked > 4 {
		t.Errorf("asked %d times", asked)
	}
	x.weather.set(func(w *weather) { w.down = true })
	if text := safe(t, action.NewNames(x.client("http://127.0.0.1:1"), "lb", nil).Learn(t.Context())); !strings.HasPrefix(text, "learn the addresses of the nodes: ") {
		t.Errorf("error %s", text)
	}
	reboot := x.action(scenario.Step{Kind: scenario.Reboot, Nodes: []string{"lb-0001-001"}})
	x.weather.set(func(w *weather) { w.down = false })
	if text := safe(t, reboot.Start(t.Context())); !strings.Contains(text, "cluster mode enabled") {
		t.Errorf("error %s", text)
	}
}
