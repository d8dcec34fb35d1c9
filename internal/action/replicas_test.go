package action_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/scenario"
)

// TestReplicasComeAndGoAndAreRestored takes one group through everything that can
// become of a change of its replicas.
func TestReplicasComeAndGoAndAreRestored(t *testing.T) {
	x := open(t, shape{shards: 2, replicas: 1, timings: map[string]time.Duration{"failover-start": 2 * time.Second}})

	t.Run("more in all", func(t *testing.T) {
		a := x.done(scenario.Step{Kind: scenario.IncreaseReplicas, Count: 2, Restore: true})
		x.expect("0001: 3, 0002: 3")
		x.restore(a)
		x.expect("0001: 2, 0002: 2")
		calls := len(x.calls)
		x.restore(a) // nothing is left to restore
		if len(x.calls) != calls {
			t.Errorf("%d calls more", len(x.calls)-calls)
		}
	})
	t.Run("fewer in one", func(*testing.T) {
		a := x.done(scenario.Step{Kind: scenario.DecreaseReplicas, NodeGroup: "0002", Count: 0, Restore: true})
		x.expect("0001: 2, 0002: 1")
		x.restore(a)
		x.expect("0001: 2, 0002: 2")
	})
	t.Run("by name", func(*testing.T) {
		a := x.done(scenario.Step{Kind: scenario.DecreaseReplicas, Nodes: []string{"lb-0001-002", "lb-0002-002"}, Restore: true})
		x.expect("0001: 1, 0002: 1")
		x.restore(a)
		x.expect("0001: 2, 0002: 2")
	})
	t.Run("not asked to restore", func(*testing.T) {
		x.restore(x.done(scenario.Step{Kind: scenario.IncreaseReplicas, NodeGroup: "0001", Count: 2}))
		x.expect("0001: 3, 0002: 2")
		x.done(scenario.Step{Kind: scenario.DecreaseReplicas, NodeGroup: "0001", Count: 1})
		x.expect("0001: 2, 0002: 2")
	})
	t.Run("a primary", x.primaryIsNotRemoved)
	t.Run("a refusal that is expected", x.expectedRefusal)
	t.Run("refused", x.refusedStartIsNotRestored)
	t.Run("interrupted", x.interruptIsRestored)
	t.Run("restored while a failover begins", x.restoredDuringFailover)
}

func (x *site) primaryIsNotRemoved(t *testing.T) {
	p := x.primary("0001")
	a := x.action(scenario.Step{Kind: scenario.DecreaseReplicas, Nodes: []string{p}, Restore: true})
	must(t, a.Start(t.Context()))
	if text := safe(t, x.settle(a)); !strings.HasPrefix(text, "refused: ") || !strings.Contains(text, "deletion of one or more masters: "+p) {
		t.Errorf("error %s", text)
	}
	calls := len(x.calls)
	x.restore(a)
	x.expect("0001: 2, 0002: 2")
	if len(x.calls) != calls {
		t.Error("something was put back that was not changed")
	}
}

// expectedRefusal: by an event, and by the answer; what is done after all is a failure.
func (x *site) expectedRefusal(t *testing.T) {
	x.done(scenario.Step{Kind: scenario.DecreaseReplicas, Nodes: []string{x.primary("0001")}, Expect: scenario.Refused})
	x.done(scenario.Step{Kind: scenario.IncreaseReplicas, NodeGroup: "0001", Count: 1, Expect: scenario.Refused})
	if n := x.noted("refused, as expected"); n != 2 {
		t.Errorf("noted %d times: %q", n, x.said())
	}
	x.expect("0001: 2, 0002: 2")
	a := x.action(scenario.Step{Kind: scenario.IncreaseReplicas, NodeGroup: "0001", Count: 2, Restore: true, Expect: scenario.Refused})
	must(t, a.Start(t.Context()))
	if text := safe(t, x.settle(a)); !strings.Contains(text, "was to be refused, and was done") {
		t.Errorf("error %s", text)
	}
	x.restore(a)
	x.expect("0001: 2, 0002: 2")
}

// refusedStartIsNotRestored: the counts that change meanwhile are somebody else's.
func (x *site) refusedStartIsNotRestored(t *testing.T) {
	first := x.action(scenario.Step{Kind: scenario.IncreaseReplicas, NodeGroup: "0001", Count: 2, Restore: true})
	must(t, first.Start(t.Context()))
	second := x.action(scenario.Step{Kind: scenario.DecreaseReplicas, NodeGroup: "0002", Count: 0, Restore: true})
	if text := safe(t, second.Start(t.Context())); !strings.Contains(text, "InvalidReplicationGroupState") {
		t.Errorf("error %s", text)
	}
	must(t, x.settle(first))
	x.restore(second)
	x.expect("0001: 3, 0002: 2")
	x.restore(first)
	x.expect("0001: 2, 0002: 2")
}

func (x *site) interruptIsRestored(t *testing.T) {
	a := x.action(scenario.Step{Kind: scenario.IncreaseReplicas, Count: 2, Restore: true})
	must(t, a.Start(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	if text := safe(t, a.Settle(ctx)); !strings.Contains(text, "context canceled: ") || !strings.Contains(text, "is modifying") {
		t.Errorf("error %s", text)
	}
	x.restore(a)
	x.expect("0001: 2, 0002: 2")

	sent := len(x.calls)
	again := x.action(scenario.Step{Kind: scenario.IncreaseReplicas, Count: 2, Restore: true})
	safe(t, again.Start(ctx)) // which has ended
	x.restore(again)
	if len(x.calls) != sent {
		t.Error("a call was made after the interrupt")
	}
}

// restoredDuringFailover: everything looks healthy while AWS has not yet taken the
// primary down, and calls are refused.
func (x *site) restoredDuringFailover(t *testing.T) {
	a := x.done(scenario.Step{Kind: scenario.IncreaseReplicas, NodeGroup: "0002", Count: 2, Restore: true})
	must(t, x.action(scenario.Step{Kind: scenario.TestFailover, NodeGroup: "0001"}).Start(t.Context()))
	x.restore(a)
	x.expect("0001: 2, 0002: 2")
}

// TestRestoreEnds: what cannot be restored does not hold the end up for ever.
func TestRestoreEnds(t *testing.T) {
	x := open(t, shape{shards: 1, replicas: 1})
	x.env.Undo = time.Second
	a := x.done(scenario.Step{Kind: scenario.IncreaseReplicas, Count: 2, Restore: true})
	x.weather.set(func(w *weather) {
		w.edit = replace("<AutomaticFailover>", "<PendingModifiedValues><Resharding/></PendingModifiedValues><AutomaticFailover>")
	})
	text := safe(t, a.Restore(context.WithoutCancel(t.Context())))
	if !strings.Contains(text, "put the replicas back (0001: 1): context deadline exceeded: slots are on the move") {
		t.Errorf("error %s", text)
	}
	x.weather.set(func(w *weather) { w.edit = nil })
	t.Run("nothing is asked for twice", func(t *testing.T) { x.doubtIsNotRepeated(t) })
	t.Run("what never arrives", func(t *testing.T) { x.lostCall(t) })
}

// doubtIsNotRepeated: the answer to the call that puts things back is lost.
func (x *site) doubtIsNotRepeated(t *testing.T) {
	x.env.Undo = 0
	a := x.done(scenario.Step{Kind: scenario.IncreaseReplicas, Count: 3, Restore: true})
	x.weather.set(func(w *weather) { w.silent = "DecreaseReplicaCount" })
	defer x.weather.set(func(w *weather) { w.silent = "" })
	x.restore(a)
	if made, asked := x.made("DecreaseReplicaCount"), x.weather.asked("DecreaseReplicaCount"); made != 1 || asked != 1 {
		t.Errorf("%d calls, %d requests", made, asked)
	}
	x.expect("0001: 3")
}

// lostCall: what leaves no traces is an error, and is not sent again.
func (x *site) lostCall(t *testing.T) {
	x.env.Late = time.Second
	defer func() { x.env.Late = 0 }()
	x.weather.set(func(w *weather) { w.lost = "TestFailover" })
	defer x.weather.set(func(w *weather) { w.lost = "" })
	a := x.action(scenario.Step{Kind: scenario.TestFailover, NodeGroup: "0001"})
	text := safe(t, a.Start(t.Context()))
	if !strings.Contains(text, "it may have happened all the same; ") || !strings.Contains(text, "no trace of it") {
		t.Errorf("error %s", text)
	}
	if n := x.weather.asked("TestFailover"); n != 1 {
		t.Errorf("%d requests", n)
	}
	x.expect("0001: 3")
}

// TestAnOperationThatComesToNothingIsGivenUp: no event tells of it.
func TestAnOperationThatComesToNothingIsGivenUp(t *testing.T) {
	x := open(t, shape{shards: 1, replicas: 1})
	x.env.Late = time.Second
	x.weather.set(func(w *weather) { w.edit = without("Decrease Replica count operation failed") })
	a := x.action(scenario.Step{Kind: scenario.DecreaseReplicas, Nodes: []string{x.primary("0001")}, Restore: true})
	must(t, a.Start(t.Context()))
	if text := safe(t, x.settle(a)); !strings.Contains(text, "nothing goes on any more, and no event has told why: node group 0001 has 1 replicas, not 0") {
		t.Errorf("error %s", text)
	}
	x.restore(a)
	x.expect("0001: 2")
}

// TestAClusterWithoutNodesAskedIsJudgedByElastiCache: replicas need no more.
func TestAClusterWithoutNodesAskedIsJudgedByElastiCache(t *testing.T) {
	x := open(t, shape{shards: 1, replicas: 1})
	x.env.Nodes, x.env.Late = nil, 500*time.Millisecond
	x.restore(x.done(scenario.Step{Kind: scenario.IncreaseReplicas, Count: 2, Restore: true}))
	x.expect("0001: 2")
	x.done(scenario.Step{Kind: scenario.TestFailover, NodeGroup: "0001"})
	if x.primary("0001") != "lb-0001-002" {
		t.Error("it has not failed over")
	}
	t.Run("nobody tells of the end", func(t *testing.T) {
		x.weather.set(func(w *weather) { w.edit = without("Finished recovery") })
		a := x.action(scenario.Step{Kind: scenario.TestFailover, NodeGroup: "0001"})
		must(t, a.Start(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		if text := safe(t, a.Settle(ctx)); !strings.Contains(text, "no event has told of the end of a recovery") {
			t.Errorf("error %s", text)
		}
	})
}
