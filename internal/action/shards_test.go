package action_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/action"
	"github.com/rankbench/rankbench/internal/scenario"
)

// TestShardsComeAndGoAndAreRestored takes a group from one node group to two and
// back, and the other way about.
func TestShardsComeAndGoAndAreRestored(t *testing.T) {
	x := open(t, shape{shards: 1, replicas: 1})
	wrong := x.action(scenario.Step{Kind: scenario.AddShards, Count: 1, Restore: true})
	if text := safe(t, wrong.Start(t.Context())); !strings.Contains(text, "there are 1 node groups now") {
		t.Errorf("error %s", text)
	}
	x.restore(wrong)
	added := x.done(scenario.Step{Kind: scenario.AddShards, Count: 2, Restore: true})
	x.expect("0001: 2, 0002: 2")

	fewer := x.action(scenario.Step{Kind: scenario.AddShards, Count: 1}) // would remove one
	if text := safe(t, fewer.Start(t.Context())); !strings.Contains(text, "there are 2 node groups now") {
		t.Errorf("error %s", text)
	}
	removed := x.done(scenario.Step{Kind: scenario.RemoveShards, Count: 1, Restore: true})
	x.expect("0001: 2")
	x.restore(removed)
	x.expect("0001: 2, 0002: 2")
	x.restore(added)
	x.expect("0001: 2")
	if n := x.made("ModifyReplicationGroupShardConfiguration"); n != 4 {
		t.Errorf("%d calls, want 4", n)
	}
}

// TestNodesAreKilledHungAndResumedByRole of a local ElastiCache.
func TestNodesAreKilledHungAndResumedByRole(t *testing.T) {
	x := open(t, shape{shards: 1, replicas: 2})
	t.Run("killed replica", func(t *testing.T) {
		before := x.pid("lb-0001-002")
		x.done(scenario.Step{Kind: scenario.Kill, Role: "replica"})
		x.expect("0001: 3")
		if now := x.pid("lb-0001-002"); now == before || now == 0 {
			t.Errorf("process %d, was %d: settled before it was replaced", now, before)
		}
	})
	t.Run("killed primary", func(t *testing.T) {
		p := x.primary("0001")
		before := x.pid(p)
		x.done(scenario.Step{Kind: scenario.Kill, Role: "primary", NodeGroup: "0001"})
		x.expect("0001: 3")
		if now := x.pid(p); now == before || now == 0 || x.primary("0001") == p {
			t.Errorf("process %d, was %d, primary %s", now, before, x.primary("0001"))
		}
	})
	for _, role := range []string{"replica", "primary"} {
		t.Run("hung "+role, func(t *testing.T) { x.hangAndResume(t, role) })
	}
	t.Run("hung by name", x.hungByName)
	t.Run("nobody hangs", func(t *testing.T) {
		a := x.action(scenario.Step{Kind: scenario.Resume, Role: "replica"})
		if text := safe(t, a.Start(t.Context())); !strings.Contains(text, "no node, or not only one, that hangs") {
			t.Errorf("error %s", text)
		}
		x.restore(a)
	})
	t.Run("unknown", func(t *testing.T) {
		a := x.action(scenario.Step{Kind: scenario.Kill, Nodes: []string{"lb-0009-001"}})
		if text := safe(t, a.Start(t.Context())); !strings.Contains(text, "has no node lb-0009-001") {
			t.Errorf("error %s", text)
		}
		x.restore(a)
	})
}

func (x *site) hungByName(*testing.T) {
	a := x.done(scenario.Step{Kind: scenario.Hang, Nodes: []string{"lb-0001-003"}})
	x.awaitSilent(x.t, "lb-0001-003")
	x.restore(a)
	x.restore(a) // once more does no harm
	must(x.t, x.settle(x.started(scenario.Step{Kind: scenario.Resume, Nodes: []string{"lb-0001-003"}})))
	x.expect("0001: 3")
}

func (x *site) started(s scenario.Step) action.Action {
	x.t.Helper()
	a := x.action(s)
	must(x.t, a.Start(x.t.Context()))
	return a
}

// awaitSilent waits until the samples tell that a node hangs.
func (x *site) awaitSilent(t *testing.T, id string) {
	t.Helper()
	eventually(t, func() error {
		for _, n := range x.nodes() {
			if n.ID == id && !n.Up {
				return nil
			}
		}
		return errors.New(id + " answers")
	})
}

// hangAndResume: the one that was hung is resumed, though it cannot say what it is.
func (x *site) hangAndResume(t *testing.T, role string) {
	hung := x.done(scenario.Step{Kind: scenario.Hang, Role: role}) // there is nothing to wait for
	id := strings.Fields(x.last())[0]
	began := time.Now()
	resume := x.action(scenario.Step{Kind: scenario.Resume, Role: role}) // at once: the samples do not tell yet
	must(t, resume.Start(t.Context()))
	if !strings.HasPrefix(x.last(), id) {
		t.Errorf("hung %s, then: %s", id, x.last())
	}
	must(t, x.settle(resume))
	t.Logf("%s: resumed and well after %v", id, time.Since(began))
	x.restore(hung)
	x.expect("0001: 3")
}
