package analyze

import (
	"slices"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

// levelOf is what becomes of Set, whose cell is of a phase of 20 s, with a step
// that begins at 5 s.
func levelOf(t *testing.T, c result.Cell, pauses ...result.Pause) result.Level {
	t.Helper()
	run := runOf("set")
	run.Phases[0].DurationS = 20
	iv := interval(0, 0, 20, c)
	iv.Self = &result.SelfSample{AtS: 20, Pauses: pauses}
	lines := []result.Interval{begin(0, 0, 20), iv, end(0, 0, 20, nil), last(20)}
	b := NewBuilder(run)
	for _, iv := range lines {
		if err := b.Add(iv); err != nil {
			t.Fatal(err)
		}
	}
	s := b.Summary([]result.Event{{AtS: 5, Kind: result.StepBegins}, {AtS: 15, Kind: result.StepRecovered}})
	st := NewStretches(s)
	for _, iv := range lines {
		if err := st.Add(iv); err != nil {
			t.Fatal(err)
		}
	}
	st.Apply(&s)
	b.Degraded(&s)
	return s.Levels["set"]
}

// times repeats each bucket.
func times(n int, buckets []uint64) (out []uint64) {
	for range n {
		out = append(out, buckets...)
	}
	return out
}

func TestTimeBelowHalfAndWithErrors(t *testing.T) {
	busy := func(from, to uint64) []uint64 { return times(20, every(1, from, to)) } // 2000/s
	for _, tt := range []struct {
		name                 string
		cell                 result.Cell
		pauses               []result.Pause
		half, errors, window float64
	}{
		{"as ever", okCell("set", 1, busy(0, 2000)...), nil, 0, 0, 0.1},
		{"nothing for 2 s, refused for 1 s of it", fail(okCell("set", 1, both(busy(0, 600), busy(800, 2000))...), "refused", every(1, 600, 700)...), nil, 2, 1, 0.1},
		{"just below half for 1 s", okCell("set", 1, slices.Concat(busy(0, 600), times(9, every(1, 600, 700)), busy(700, 2000))...), nil, 1, 0, 0.1},
		{"just half", okCell("set", 1, slices.Concat(busy(0, 600), times(10, every(1, 600, 700)), busy(700, 2000))...), nil, 0, 0, 0.1},
		{"0.1 s without any in the baseline, and later", okCell("set", 1, slices.Concat(busy(0, 200), busy(210, 600), busy(610, 2000))...), nil, 0, 0, 0.2},
		{"the baseline ends with the step", okCell("set", 1, slices.Concat(busy(0, 500), busy(600, 2000))...), nil, 1, 0, 0.1},
		{"to the end", fail(okCell("set", 1, busy(0, 1800)...), "unsent", times(3, every(1, 1800, 2000))...), nil, 2, 2, 0.1},
		{"1 % errors", fail(okCell("set", 1, busy(0, 2000)...), "timeout", every(5, 500, 2000)...), nil, 0, 0, 0.1},
		{"1.5 % errors of two classes", fail(fail(okCell("set", 1, busy(0, 2000)...), "timeout", every(5, 500, 600)...), "reset", every(10, 500, 600)...), nil, 0, 1, 0.1},
		{
			"rankbench itself did not run for 1 s of 2", okCell("set", 1, both(busy(0, 600), busy(800, 2000))...),
			[]result.Pause{{FromS: 6.5, ToS: 7.5}}, 1, 0, 0.1,
		},
		{"100 a second make windows of a second", okCell("set", 1, both(every(1, 0, 600), every(1, 700, 2000))...), nil, 1, 0, 1},
		{"80 a second", okCell("set", 1, slices.Concat(every(5, 0, 2000), every(5, 1, 2000), every(5, 2, 2000), every(5, 3, 2000))...), nil, 0, 0, 1.25},
		{"an error of 100 is no more than 1 %", fail(okCell("set", 1, both(every(1, 0, 530), every(1, 532, 2000))...), "timeout", 530), nil, 0, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := levelOf(t, tt.cell, tt.pauses...)
			if l.BelowHalfS == nil || *l.BelowHalfS != tt.half || *l.ErrorsAbove1PctS != tt.errors || *l.WindowS != tt.window {
				t.Errorf("below half %v s, errors %v s, by %v s; want %v, %v, %v", *l.BelowHalfS, *l.ErrorsAbove1PctS, *l.WindowS, tt.half, tt.errors, tt.window)
			}
		})
	}
}

// TestRareOperationsAreNeverJudgedByTheFew: three in the ten seconds of a window
// may be one by chance.
func TestRareOperationsAreNeverJudgedByTheFew(t *testing.T) {
	l := levelOf(t, okCell("set", 1, every(33, 0, 2000)...))
	if l.BaselineRPS == nil || l.BelowHalfS != nil || l.ErrorsAbove1PctS != nil || l.WindowS != nil {
		t.Errorf("level %+v", l)
	}
}

func TestTimesAreOfThePhasesThatHaveTheOperation(t *testing.T) {
	run := runOf("set", "get")
	run.Phases[1].Ops = []string{"get"}
	busy := func(op string, from, to uint64) result.Cell { return okCell(op, 1, times(20, every(1, from, to))...) }
	warmup := result.Cell{Op: "get", Warmup: true}
	lines := []result.Interval{
		begin(0, 0, 10), interval(0, 0, 10, busy("set", 0, 1000), busy("get", 0, 1000)), end(0, 0, 10, nil),
		begin(1, 12, 20), interval(1, 10, 20, warmup, busy("get", 1200, 2000)), end(1, 12, 20, nil), last(20),
	}
	b := NewBuilder(run)
	for _, iv := range lines {
		if err := b.Add(iv); err != nil {
			t.Fatal(err)
		}
	}
	s := b.Summary([]result.Event{{AtS: 5, Kind: result.StepBegins}})
	s.Levels = map[string]result.Level{"set": {BaselineRPS: new(2000.0)}, "get": {BaselineRPS: new(2000.0)}}
	b.Degraded(&s)
	for op, l := range s.Levels {
		if l.BelowHalfS == nil || *l.BelowHalfS != 0 {
			t.Errorf("%s: below half for %v s", op, *l.BelowHalfS)
		}
	}
}

// TestPhasesAreComparedWithTheirLike: one in which everything hangs is below half,
// one that was to do less is not.
func TestPhasesAreComparedWithTheirLike(t *testing.T) {
	level := func(rate float64, second ...result.Cell) result.Level {
		run := runOf("set")
		run.Phases[0].Rates, run.Phases[1].Rates = map[string]float64{"set": 100}, map[string]float64{"set": rate}
		b := NewBuilder(run)
		for _, iv := range []result.Interval{
			begin(0, 0, 10), interval(0, 0, 10, okCell("set", 1, every(1, 0, 1000)...)), end(0, 0, 10, nil),
			begin(1, 10, 20), interval(1, 10, 20, second...), end(1, 10, 20, nil), last(20),
		} {
			if err := b.Add(iv); err != nil {
				t.Fatal(err)
			}
		}
		s := b.Summary([]result.Event{{AtS: 5, Kind: result.StepBegins}})
		rps := 100.0
		s.Levels = map[string]result.Level{"set": {BaselineRPS: &rps}}
		b.Degraded(&s)
		return s.Levels["set"]
	}
	if l := level(100); l.BelowHalfS == nil || *l.BelowHalfS != 10 {
		t.Errorf("all of it hung: %+v", l)
	}
	if l := level(20, okCell("set", 1, every(5, 1000, 2000)...)); l.BelowHalfS == nil || *l.BelowHalfS != 0 {
		t.Errorf("it was to do a fifth: %+v", l)
	}
}
