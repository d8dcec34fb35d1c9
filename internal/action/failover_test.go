package action_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/action"
	"github.com/rankbench/rankbench/internal/scenario"
)

// TestFailoverIsSettledWhenTheRecoveryIsOver and not when the group shows as
// available, which it does all the time, or the replica is promoted.
func TestFailoverIsSettledWhenTheRecoveryIsOver(t *testing.T) {
	x := open(t, shape{shards: 1, replicas: 2, timings: map[string]time.Duration{"recovery": 3 * time.Second}})
	p := x.primary("0001")
	a := x.action(scenario.Step{Kind: scenario.TestFailover}) // of the ranking's node group
	began := time.Now()
	must(t, a.Start(t.Context()))
	must(t, x.settle(a))
	if n := x.events(p + ": Finished recovery for cache nodes 0001"); n != 1 {
		t.Errorf("the end of the recovery was told %d times before the action was done", n)
	}
	if took := time.Since(began); took < 3500*time.Millisecond {
		t.Errorf("done after %v", took)
	}
	x.expect("0001: 3")
	if now := x.primary("0001"); now == p {
		t.Errorf("%s is still the primary", now)
	}
	calls := len(x.calls)
	x.restore(a)
	if len(x.calls) != calls || calls != 1 {
		t.Errorf("%d calls, then %d", calls, len(x.calls))
	}

	t.Run("interrupted", x.interruptedFailover)
	t.Run("answer lost", x.lostAnswer)
	t.Run("events lost", x.lostEvents)
	t.Run("no such node group", func(t *testing.T) {
		a := x.action(scenario.Step{Kind: scenario.TestFailover, NodeGroup: "0009"})
		if text := safe(t, a.Start(t.Context())); !strings.Contains(text, "has no node group 0009") {
			t.Errorf("error %s", text)
		}
	})
	t.Run("a step that is none", func(t *testing.T) { x.wait(t) })
}

// interruptedFailover: Settle ends at once, and says what was missing.
func (x *site) interruptedFailover(t *testing.T) {
	a := x.action(scenario.Step{Kind: scenario.TestFailover, NodeGroup: "0001"})
	must(t, a.Start(t.Context()))
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	err := a.Settle(ctx)
	if text := safe(t, err); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(text, "lb-0001-00") {
		t.Errorf("error %s", text)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	must(t, x.settle(a)) // it goes on at ElastiCache
	x.expect("0001: 3")
}

// lostAnswer: the call was received, and nobody knows until the event shows up.
func (x *site) lostAnswer(t *testing.T) {
	x.weather.set(func(w *weather) { w.silent, w.count = "TestFailover", map[string]int{} })
	defer x.weather.set(func(w *weather) { w.silent = "" })
	called, p := x.events("Test Failover API called"), x.primary("0001")
	a := x.action(scenario.Step{Kind: scenario.TestFailover, NodeGroup: "0001"})
	must(t, a.Start(t.Context()))
	must(t, x.settle(a))
	if n := x.events("Test Failover API called") - called; n != 1 || x.weather.asked("TestFailover") != 1 {
		t.Errorf("%d failovers, %d requests", n, x.weather.asked("TestFailover"))
	}
	if x.noted("it may have happened all the same") != 1 || x.noted("TestFailover has happened") != 1 {
		t.Errorf("notes: %q", x.said())
	}
	x.expect("0001: 3")
	if now := x.primary("0001"); now == p {
		t.Errorf("%s is still the primary", now)
	}
}

// lostEvents: the end of the recovery is never told.
func (x *site) lostEvents(t *testing.T) {
	x.weather.set(func(w *weather) { w.edit = without("Finished recovery", "Failover to replica") })
	defer x.weather.set(func(w *weather) { w.edit = nil })
	x.env.Late = time.Second
	defer func() { x.env.Late = 0 }()
	finished, p := x.events("Finished recovery"), x.primary("0001")
	x.done(scenario.Step{Kind: scenario.TestFailover, NodeGroup: "0001"})
	if n := x.noted("no event has told of the end of the recovery of " + p); n != 1 {
		t.Errorf("noted %d times: %q", n, x.said())
	}
	if x.events("Finished recovery") != finished {
		t.Error("the event was told all the same")
	}
	x.expect("0001: 3")
	if now := x.primary("0001"); now == p {
		t.Errorf("%s is still the primary", now)
	}
}

func (x *site) wait(t *testing.T) {
	a := x.action(scenario.Step{Kind: scenario.Wait, For: 50 * time.Millisecond})
	began := time.Now()
	must(t, errors.Join(a.Start(t.Context()), a.Settle(t.Context()), a.Restore(t.Context())))
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("it took %v", took)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := x.action(scenario.Step{Kind: scenario.Wait, For: time.Hour}).Settle(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestTheConsole holds the console to what a run wants of it.
func TestTheConsole(t *testing.T) {
	x := open(t, shape{shards: 1, replicas: 1, modifying: true})
	if len(x.all()) != 0 {
		t.Errorf("told of before: %v", x.all())
	}
	x.done(scenario.Step{Kind: scenario.TestFailover})
	x.awaitEvent("Failover to replica node lb-0001-002 completed")
	x.eachOnce(t)
	for _, e := range x.all() {
		if e.Source != "elasticache" || e.AtS < 0 || e.Subject == "" {
			t.Errorf("%+v", e)
		}
	}
	told := len(x.all())

	t.Run("primed", func(t *testing.T) {
		c := x.newConsole()
		must(t, c.Prime(t.Context()))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		c.Run(ended, time.Hour) // looks twice
		if len(x.all()) != told {
			t.Errorf("told again: %v", x.all()[told:])
		}
	})
	t.Run("shown late", x.shownLate)
	t.Run("out of reach", x.outOfReach)
}

// eachOnce wants no event twice.
func (x *site) eachOnce(t *testing.T) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range x.all() {
		key := fmt.Sprint(e.AtS, e.Subject, e.Message)
		if seen[key] {
			t.Errorf("told twice: %+v", e)
		}
		seen[key] = true
	}
}

// shownLate: an event that shows up after others is told, unless it is from before
// the console began.
func (x *site) shownLate(t *testing.T) {
	x.weather.set(func(w *weather) { w.edit = without("Recovering cache nodes") })
	defer x.weather.set(func(w *weather) { w.edit = nil })
	c := x.newConsole()
	must(t, c.Prime(t.Context()))
	before := x.events("Recovering")
	x.done(scenario.Step{Kind: scenario.TestFailover})
	if n := x.events("Recovering"); n != before {
		t.Fatalf("told %d, %d before", n, before)
	}
	x.weather.set(func(w *weather) { w.edit = nil })
	x.awaitEvent("lb-0001-002: Recovering cache nodes 0001")
	x.eachOnce(t)

	told := len(x.all())
	late := x.newConsole() // which begins now, and has not been primed
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	late.Run(ended, time.Hour)
	if len(x.all()) != told {
		t.Errorf("told of before: %v", x.all()[told:])
	}
}

// outOfReach: it is said once that AWS is away, once that it is back, and what
// happened meanwhile is told.
func (x *site) outOfReach(t *testing.T) {
	x.weather.set(func(w *weather) { w.down = true })
	eventually(t, func() error {
		if x.noted("the events cannot be read: ") == 0 {
			return errors.New("nothing noted")
		}
		return nil
	})
	from := x.weather.asked("DescribeEvents")
	eventually(t, func() error {
		if n := x.weather.asked("DescribeEvents") - from; n < 4 {
			return fmt.Errorf("asked %d times", n)
		}
		return nil
	})
	called := x.events("Increase replica count started")
	around := x.env
	around.AWS = x.client(x.local.URL())
	a, err := action.New(scenario.Step{Kind: scenario.IncreaseReplicas, Count: 2}, around)
	must(t, err)
	must(t, a.Start(t.Context()))
	if x.events("Increase replica count started") != called {
		t.Error("told while AWS is away")
	}
	x.weather.set(func(w *weather) { w.down = false })
	x.awaitEvent("Increase replica count started")
	if a, b := x.noted("the events cannot be read: "), x.noted("the events can be read again"); a != 1 || b != 1 {
		t.Errorf("noted %d and %d times: %q", a, b, x.said())
	}
	x.eachOnce(t)
}
