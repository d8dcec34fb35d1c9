package drill_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/drill"
	"github.com/rankbench/rankbench/internal/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a drill with a clock and a memory.
type bench struct {
	t     *testing.T
	start time.Time

	mu     sync.Mutex
	done   []string
	events []result.Event
}

func newBench(t *testing.T) *bench { return &bench{t: t, start: time.Now()} }

func (b *bench) drill(steps ...drill.Step) *drill.Drill { return b.drillUntil(nil, steps...) }

func (b *bench) drillUntil(over <-chan struct{}, steps ...drill.Step) *drill.Drill {
	return drill.New(drill.Options{Steps: steps, Over: over, Settle: 200 * time.Millisecond,
		Now: func() time.Duration { return time.Since(b.start) },
		Tell: func(e result.Event) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.events = append(b.events, e)
		}})
}

func (b *bench) note(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = append(b.done, what)
}

// act is an action that does what its fields say.
type act struct {
	*bench
	name                   string
	start, settle, restore error
	hangs                  bool // Settle waits until its context ends
}

func (a act) Start(context.Context) error { a.note(a.name + " starts"); return a.start }

func (a act) Settle(ctx context.Context) error {
	a.note(a.name + " settles")
	if a.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return a.settle
}

func (a act) Restore(ctx context.Context) error {
	a.note(a.name + " is restored")
	return errors.Join(a.restore, ctx.Err())
}

func (b *bench) expect(want ...string) {
	b.t.Helper()
	if !slices.Equal(b.done, want) {
		b.t.Errorf("done: %q\nwant: %q", b.done, want)
	}
}

func (b *bench) kinds() (kinds []string) {
	for _, e := range b.events {
		if e.Kind != "" {
			kinds = append(kinds, e.Subject+" "+e.Kind)
		}
	}
	return kinds
}

func TestStepsRunAtTheirTimesAndAreRestoredBackwards(t *testing.T) {
	b := newBench(t)
	d := b.drill(
		drill.Step{Name: "one", At: 50 * time.Millisecond, Action: act{bench: b, name: "one"}},
		drill.Step{Name: "two", After: true, Delay: 30 * time.Millisecond, Action: act{bench: b, name: "two"}})
	if err := d.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if took := time.Since(b.start); took < 80*time.Millisecond {
		t.Errorf("all was over after %v", took)
	}
	if err := d.Restore(t.Context()); err != nil {
		t.Error(err)
	}
	b.expect("one starts", "one settles", "two starts", "two settles", "two is restored", "one is restored")
	want := []string{"one " + result.StepBegins, "one " + result.StepRecovered, "two " + result.StepBegins, "two " + result.StepRecovered}
	if got := b.kinds(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if at := b.events[0].AtS; at < 0.05 || b.events[0].Source != drill.Source {
		t.Errorf("the first event: %+v", b.events[0])
	}
}

func TestAStepThatFailsIsToldAndRestored(t *testing.T) {
	b := newBench(t)
	d := b.drill(
		drill.Step{Name: "one", Action: act{bench: b, name: "one", start: errors.New("denied")}},
		drill.Step{Name: "two", After: true, Action: act{bench: b, name: "two"}},
		drill.Step{Name: "three", Action: act{bench: b, name: "three", settle: errors.New("stuck"), restore: errors.New("no way back")}},
		drill.Step{Name: "four", Action: act{bench: b, name: "four"}})
	err := d.Run(t.Context())
	for _, want := range []string{"step 1, one: denied", "step 2, two: not begun", "step 3, three: stuck"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := d.Restore(t.Context()); err == nil || !strings.Contains(err.Error(), "step three: no way back") {
		t.Error(err)
	}
	b.expect("one starts", "three starts", "three settles", "four starts", "four settles", "four is restored", "three is restored", "one is restored")
	if text := fmt.Sprint(b.events); !strings.Contains(text, "step 1 failed: denied") || !strings.Contains(text, "not restored: no way back") {
		t.Error(text)
	}
}

func TestWhatHoldsUpOthersIsLetGoFirst(t *testing.T) {
	b := newBench(t)
	d := b.drill(
		drill.Step{Name: "one", Holds: true, Restores: true, Action: act{bench: b, name: "one"}},
		drill.Step{Name: "two", After: true, Action: act{bench: b, name: "two"}},
		drill.Step{Name: "three", Restores: true, Action: act{bench: b, name: "three", restore: errors.New("no way back")}})
	if err := d.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if left := d.Unrestored(); !slices.Equal(left, []string{"one", "three"}) {
		t.Errorf("to be restored: %q", left)
	}
	if err := d.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := d.Restore(t.Context()); err == nil {
		t.Error("three was restored")
	}
	if left := d.Unrestored(); !slices.Equal(left, []string{"three"}) {
		t.Errorf("not restored: %q", left)
	}
	b.expect("one starts", "one settles", "two starts", "two settles", "three starts", "three settles",
		"one is restored", "three is restored", "two is restored")
	want := []string{"one " + result.StepBegins, "two " + result.StepBegins, "two " + result.StepRecovered, "three " + result.StepBegins, "three " + result.StepRecovered}
	if got := b.kinds(); !slices.Equal(got, want) {
		t.Errorf("what holds has not recovered when it is done: %q, want %q", got, want)
	}
}

func TestNoStepBeginsWithoutLoad(t *testing.T) {
	b := newBench(t)
	over := make(chan struct{})
	d := b.drillUntil(over,
		drill.Step{Name: "one", Action: act{bench: b, name: "one", hangs: true}},
		drill.Step{Name: "two", At: 10 * time.Millisecond, Action: act{bench: b, name: "two"}},
		drill.Step{Name: "three", At: time.Hour, Action: act{bench: b, name: "three"}})
	time.AfterFunc(50*time.Millisecond, func() { close(over) }) // one takes 200 ms until it is given up
	err := d.Run(t.Context())
	for _, want := range []string{"step 2, two: not begun: the load was over", "step 3, three: not begun: the load was over"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	b.expect("one starts", "one settles")
}

func TestAStepThatComesLateSaysSo(t *testing.T) {
	b := newBench(t)
	b.start = time.Now().Add(-3 * time.Second) // as if the step before had taken so long
	d := b.drill(drill.Step{Name: "one", At: time.Second, Action: act{bench: b, name: "one"}})
	if err := d.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if text := b.events[0].Message; !strings.HasPrefix(text, "step 1 begins, 2.") {
		t.Error(text)
	}
}

func TestAStepThatHangsIsGivenUp(t *testing.T) {
	b := newBench(t)
	d := b.drill(drill.Step{Name: "one", Action: act{bench: b, name: "one", hangs: true}})
	if err := d.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "step 1, one: not done within 200ms") {
		t.Error(err)
	}
}

func TestAnInterruptEndsTheStepsAndNotTheRestoring(t *testing.T) {
	b := newBench(t)
	d := b.drill(
		drill.Step{Name: "one", Action: act{bench: b, name: "one", hangs: true}},
		drill.Step{Name: "two", At: time.Hour, Action: act{bench: b, name: "two"}})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := d.Run(ctx); err != nil {
		t.Errorf("an interrupt is no failure of a step: %v", err)
	}
	if err := d.Restore(context.WithoutCancel(ctx)); err != nil {
		t.Error(err)
	}
	b.expect("one starts", "one settles", "one is restored")
}
