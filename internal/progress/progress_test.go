package progress_test

import (
	"reflect"
	"testing"

	"github.com/rankbench/rankbench/internal/progress"
	"github.com/rankbench/rankbench/internal/result"
)

func run() result.Run {
	return result.Run{Phases: []result.RunPhase{
		{Name: "warm", WarmupS: 2, DurationS: 8, Ops: []string{"set", "get"}},
		{Name: "reads", DurationS: 20, Ops: []string{"get"}},
	}}
}

// second is an interval of a second with so many successes of an operation.
func second(from float64, phase int, cells ...result.Cell) result.Interval {
	return result.Interval{FromS: from, ToS: from + 1, Phase: phase, Cells: cells}
}

func TestStatusCountsWhatFailedAndWhatWasNotSent(t *testing.T) {
	f := progress.New(run(), nil)
	f.Interval(second(0, 0, result.Cell{Op: "set", Warmup: true, OK: 100}, result.Cell{Op: "get", Warmup: true, OK: 50}))
	f.Interval(second(1, 0, result.Cell{Op: "set", OK: 80, Unsent: 3, Errors: map[string]result.Failure{"refused": {N: 4}, "timeout": {N: 1}}}))
	got := f.Status()
	want := progress.Status{
		State: progress.Load, ElapsedS: 2, PlannedS: 30, Phase: "warm",
		Ops: []progress.Rate{{Op: "set", RPS: 80}, {Op: "get", RPS: 0}}, Past: []int64{150, 80}, Failed: 8, Failing: 8,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	if got.RemainingS() != 28 {
		t.Errorf("%g s remain", got.RemainingS())
	}
	f.Interval(second(2, 0, result.Cell{Op: "set", OK: 90}))
	if s := f.Status(); s.Failed != 8 || s.Failing != 0 {
		t.Errorf("after a second without a failure: %d in all, %d in the last second", s.Failed, s.Failing)
	}
}

func TestIntervalCutShortTellsNoRateButItsFailures(t *testing.T) {
	f := progress.New(run(), nil)
	f.Interval(second(0, 0, result.Cell{Op: "set", OK: 100}))
	f.Interval(result.Interval{FromS: 1, ToS: 1.01, Cells: []result.Cell{{Op: "set", OK: 9, Unsent: 2}}})
	if s := f.Status(); len(s.Past) != 1 || s.Ops[0].RPS != 100 || s.Failed != 2 {
		t.Errorf("%+v", s)
	}
}

func TestPastIsTheLastMinute(t *testing.T) {
	f := progress.New(run(), nil)
	for i := range 100 {
		f.Interval(second(float64(i), 0, result.Cell{Op: "set", OK: uint64(i)}))
	}
	if past := f.Status().Past; len(past) != 60 || past[0] != 40 || past[59] != 99 {
		t.Errorf("%d seconds, from %d to %d", len(past), past[0], past[len(past)-1])
	}
}

func TestNextStepIsCountedDownOrWaitsForTheOneBefore(t *testing.T) {
	f := progress.New(run(), []progress.Step{{AtS: 5, What: "test_failover"}, {After: true, AtS: 3, What: "reboot"}})
	check := func(at float64, next string, in float64) {
		t.Helper()
		f.Interval(second(at-1, 0))
		s := f.Status()
		if got := -1.0; s.Next != next || s.NextInS == nil && in >= 0 || s.NextInS != nil && *s.NextInS != in {
			if s.NextInS != nil {
				got = *s.NextInS
			}
			t.Errorf("at %g s the next is %q in %g s, want %q in %g s", at, s.Next, got, next, in)
		}
	}
	check(2, "test_failover", 3)
	check(6, "test_failover", 0) // late
	f.Event(result.Event{AtS: 6, Kind: result.StepBegins})
	check(7, "reboot", -1)
	f.Event(result.Event{AtS: 8, Kind: result.StepRecovered})
	check(9, "reboot", 2)
	f.Event(result.Event{AtS: 11, Kind: result.StepBegins})
	check(12, "", -1)
}

func TestAfterTheLoadNoStepIsToCome(t *testing.T) {
	f := progress.New(run(), []progress.Step{{AtS: 5, What: "test_failover"}})
	f.Interval(second(0, 0, result.Cell{Op: "set", OK: 1}))
	f.Interval(second(31, -1))
	if s := f.Status(); s.State != progress.After || s.Next != "" || s.Phase != "" || len(s.Ops) != 0 || s.ElapsedS != 32 || s.RemainingS() != 0 {
		t.Errorf("%+v", s)
	}
}

func TestStatusIsNotChangedByLaterIntervals(t *testing.T) {
	f := progress.New(run(), nil)
	f.Interval(second(0, 0, result.Cell{Op: "set", OK: 1}))
	s := f.Status()
	f.Interval(second(1, 0, result.Cell{Op: "set", OK: 7}))
	if len(s.Past) != 1 || s.Past[0] != 1 || s.Ops[0].RPS != 1 {
		t.Errorf("%+v", s)
	}
}
