package analyze

import (
	"encoding/json"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/result"
)

// runOf is a run of phases of 10 s each, with the operations of all of them.
func runOf(ops ...string) result.Run {
	r := result.Run{Version: 1, Scenario: "test", OutageThresholdS: 1, Host: result.Host{MaxProcs: 2}}
	for _, name := range []string{"one", "two"} {
		r.Phases = append(r.Phases, result.RunPhase{Name: name, DurationS: 10, Ops: ops})
	}
	return r
}

// begin is the line at a phase's beginning: its measured part is planned from … to.
func begin(phase int, from, to float64) result.Interval {
	return result.Interval{FromS: from, ToS: from, Phase: phase, Mark: &result.PhaseBoundary{Begin: true, MeasuredFromS: from, MeasuredToS: to}}
}

func end(phase int, from, to float64, claimed map[string]uint64) result.Interval {
	return result.Interval{FromS: to, ToS: to, Phase: phase, Mark: &result.PhaseBoundary{End: true, MeasuredFromS: from, MeasuredToS: to, Claimed: claimed}}
}

func interval(phase int, from, to float64, cells ...result.Cell) result.Interval {
	return result.Interval{FromS: from, ToS: to, Phase: phase, Cells: cells}
}

// last is the last line of a run that came to its end.
func last(at float64) result.Interval {
	return result.Interval{FromS: at, ToS: at, Phase: -1, End: &result.RunEnd{}}
}

// whole is phase 0 from 0 to 10 s with these cells, and the end of the run.
func whole(cells ...result.Cell) []result.Interval {
	return []result.Interval{begin(0, 0, 10), interval(0, 0, 10, cells...), end(0, 0, 10, nil), last(10)}
}

// summary makes the summary of a run, which must be fit for JSON.
func summary(t *testing.T, run result.Run, lines ...result.Interval) result.Summary {
	t.Helper()
	b := NewBuilder(run)
	for _, iv := range lines {
		if err := b.Add(iv); err != nil {
			t.Fatal(err)
		}
	}
	s := b.Summary([]result.Event{})
	if _, err := json.Marshal(s); err != nil { // NaN and Inf are no JSON
		t.Errorf("the summary is no JSON: %v", err)
	}
	return s
}

// okCell has one success of so many microseconds in each of the buckets.
func okCell(op string, us int64, buckets ...uint64) result.Cell {
	c := result.Cell{Op: op, OK: uint64(len(buckets))}
	if len(buckets) == 0 {
		return c
	}
	c.OKAt = result.Series{From: slices.Min(buckets), N: make([]uint32, slices.Max(buckets)-slices.Min(buckets)+1)}
	for _, b := range buckets {
		c.OKAt.N[b-c.OKAt.From]++
	}
	c.Service = histogram(us, int64(len(buckets)))
	c.ServiceSumUS, c.ServiceMaxUS = float64(us)*float64(len(buckets)), float64(us)
	return c
}

func histogram(us, n int64) string {
	h := hdr.New(1, 86_400_000_000, 2)
	if err := h.RecordValues(us, n); err != nil {
		panic(err)
	}
	text, err := result.EncodeHistogram(h)
	if err != nil {
		panic(err)
	}
	return text
}

// every lists buckets from … to-1 in steps.
func every(step, from, to uint64) (out []uint64) {
	for b := from; b < to; b += step {
		out = append(out, b)
	}
	return out
}

// fail adds one failure due in each of the buckets.
func fail(c result.Cell, class string, buckets ...uint64) result.Cell {
	var at [][2]uint64
	for _, b := range buckets {
		at = append(at, [2]uint64{b, 1})
	}
	if class == unsentClass {
		c.Unsent, c.UnsentAt = uint64(len(buckets)), at
		return c
	}
	c.Errors = maps.Clone(c.Errors)
	if c.Errors == nil {
		c.Errors = map[string]result.Failure{}
	}
	c.Errors[class] = result.Failure{N: uint64(len(buckets)), At: at}
	return c
}

func TestDueIsOKAndErrorsAndUnsent(t *testing.T) {
	c := fail(fail(fail(okCell("set", 1000, every(1, 0, 900)...), "refused", every(1, 900, 950)...), "timeout", 950), "unsent", 960, 961)
	o := summary(t, runOf("set"), whole(c)...).Phases[0].Ops["set"]
	if o.Due != 953 || o.OK != 900 || o.Unsent != 2 || !maps.Equal(o.Errors, map[string]uint64{"refused": 50, "timeout": 1}) {
		t.Errorf("operations are %+v", o)
	}
	if o.RPS != 90 {
		t.Errorf("rps is %v, want 90: successes only, over 10 s", o.RPS)
	}
	if o.LatencyUS != o.ServiceUS || o.LatencyUS.Mean != 1000 || o.LatencyUS.Max != 1000 || o.LatencyUS.P50 != 1000 {
		t.Errorf("latency of a closed loop is %+v, service %+v", o.LatencyUS, o.ServiceUS)
	}
}

func TestLatencyOfAnOpenLoopIsItsOwn(t *testing.T) {
	c := okCell("set", 1000, every(1, 0, 100)...)
	c.Latency, c.LatencySumUS, c.LatencyMaxUS = histogram(5000, 100), 500_000, 5000
	o := summary(t, runOf("set"), whole(c)...).Phases[0].Ops["set"]
	if o.LatencyUS.Mean != 5000 || o.LatencyUS.P99 != 5000 || o.ServiceUS.Mean != 1000 || o.ServiceUS.P99 != 1000 {
		t.Errorf("latency is %+v, service %+v", o.LatencyUS, o.ServiceUS)
	}
}

// TestTotalsAreTheSumOfTheIntervals cuts random cells into random intervals.
func TestTotalsAreTheSumOfTheIntervals(t *testing.T) {
	for seed := range uint64(20) {
		s := ranking.NewStream(seed, 0)
		lines, want, sum, most := []result.Interval{begin(0, 0, 10)}, result.OpSummary{Errors: map[string]uint64{}}, 0.0, 0.0
		all := hdr.New(1, 86_400_000_000, 2)
		n := 1 + s.Below(20)
		for i := range n {
			us := int64(1 + s.Below(100_000))
			c := okCell("get", us, every(1+s.Below(5), 10*i, 10*i+s.Below(30))...)
			c = fail(c, []string{"reset", "timeout", "oom"}[s.Below(3)], every(1, 10*i, 10*i+s.Below(5))...)
			c = fail(c, "unsent", every(1, 10*i, 10*i+s.Below(3))...)
			lines = append(lines, interval(0, float64(i)*10/float64(n), float64(i+1)*10/float64(n), c))
			want.OK += c.OK
			want.Unsent += c.Unsent
			for class, f := range c.Errors {
				want.Errors[class] += f.N
				want.Due += f.N
			}
			if c.OK > 0 {
				_ = all.RecordValues(us, int64(c.OK))
				sum, most = sum+c.ServiceSumUS, max(most, c.ServiceMaxUS)
			}
		}
		want.Due += want.OK + want.Unsent
		got := summary(t, runOf("get"), append(lines, end(0, 0, 10, map[string]uint64{"get": want.Due}), last(10))...)
		o := got.Phases[0].Ops["get"]
		if o.Due != want.Due || o.OK != want.OK || o.Unsent != want.Unsent || !maps.Equal(o.Errors, want.Errors) {
			t.Errorf("seed %d: got %+v, want %+v", seed, o, want)
		}
		if q := o.ServiceUS; want.OK > 0 && (math.Abs(q.Mean-sum/float64(want.OK)) > 1e-6 || q.Max != most || q.P50 != min(float64(all.ValueAtPercentile(50)), most)) {
			t.Errorf("seed %d: quantiles %+v, want mean %v, max %v", seed, q, sum/float64(want.OK), most)
		}
		for _, w := range got.Warnings {
			if strings.Contains(w, "accounted for") {
				t.Errorf("seed %d: %s", seed, w)
			}
		}
	}
}

func TestPhasesAreKeptApartAndWarmupIsExcluded(t *testing.T) {
	run := runOf("set")
	run.Phases[1].WarmupS = 5
	warm := okCell("set", 9_000_000, every(1, 1000, 1500)...)
	warm.Warmup = true
	warm = fail(warm, "reset", 1400)
	s := summary(t, run,
		begin(0, 0, 10), interval(0, 0, 10, okCell("set", 1000, every(1, 0, 1000)...)), end(0, 0, 10, nil),
		begin(1, 15, 25), interval(1, 10, 15, warm), interval(1, 15, 25, okCell("set", 2000, every(2, 1500, 2500)...)), end(1, 15, 25, nil),
		last(25))
	one, two := s.Phases[0].Ops["set"], s.Phases[1].Ops["set"]
	if one.OK != 1000 || one.RPS != 100 || one.LatencyUS.Max != 1000 || s.Phases[0].WarmupOps != nil {
		t.Errorf("the first phase has %+v, warm-up %v", one, s.Phases[0].WarmupOps)
	}
	if two.OK != 500 || two.Due != 500 || two.RPS != 50 || two.LatencyUS.Max != 2000 {
		t.Errorf("the second phase has %+v", two)
	}
	if w := s.Phases[1].WarmupOps["set"]; w.OK != 500 || w.RPS != 100 || w.Errors["reset"] != 1 {
		t.Errorf("the warm-up has %+v", w)
	}
	if s.Phases[1].FromS != 15 || s.Phases[1].ToS != 25 || s.DurationS != 25 || !s.Complete || len(s.Outages) != 0 {
		t.Errorf("the second phase is from %v to %v of %v s, outages %v", s.Phases[1].FromS, s.Phases[1].ToS, s.DurationS, s.Outages)
	}
}

// TestSummaryIsAlwaysFitForJSON: summary does the check.
func TestSummaryIsAlwaysFitForJSON(t *testing.T) {
	run := runOf("set", "get")
	run.Limits = []result.RunLimit{
		{Op: "set", Metric: "p99", Want: 0.02}, {Op: "get", Metric: "rps", Want: 1}, {Op: "set", Metric: "outage", Want: 1},
		{Op: "find", Metric: "max", Want: 1}, {Metric: MetricBottleneck},
	}
	self := func(at float64) result.Interval {
		return result.Interval{FromS: at, ToS: at, Phase: 0, Self: &result.SelfSample{AtS: at, HostCPUPct: -1}, Nodes: []result.NodeSample{{ID: "a", AtS: at, Up: true}}}
	}
	for _, tt := range []struct {
		name   string
		run    result.Run
		lines  []result.Interval
		phases int
	}{
		{"empty run", run, nil, 0},
		{"empty run without phases", result.Run{}, nil, 0},
		{"ended before the first phase", run, []result.Interval{last(0)}, 0},
		{"killed right after a phase began", run, []result.Interval{begin(0, 0, 10)}, 1},
		{"killed in the warm-up", run, []result.Interval{begin(0, 5, 15), interval(0, 0, 1)}, 1},
		{"phase without length", run, []result.Interval{begin(0, 3, 3), end(0, 3, 3, nil), last(3)}, 1},
		{"phase without length but with successes", run, []result.Interval{begin(0, 3, 3), interval(0, 3, 3, okCell("set", 0, 300)), end(0, 3, 3, nil), last(3)}, 1},
		{"phase without a success", run, whole(fail(result.Cell{Op: "set"}, "refused", every(1, 0, 1000)...)), 1},
		{"two samples at one time", run, []result.Interval{begin(0, 0, 10), self(1), self(1), end(0, 0, 10, nil), last(10)}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := summary(t, tt.run, tt.lines...)
			if len(s.Phases) != tt.phases {
				t.Errorf("%d phases, want %d", len(s.Phases), tt.phases)
			}
			// Lists are lists, also when there is nothing in them.
			if s.Phases == nil || s.Outages == nil || s.Nodes == nil || s.Events == nil || s.Limits == nil || s.Warnings == nil {
				t.Errorf("a list is null: %+v", s)
			}
			if (s.Verdict == Pass) && len(tt.run.Limits) > 0 {
				t.Error("limits are met though nothing was seen")
			}
		})
	}
}

func TestKilledRunIsSummarizedUpToWhereItCame(t *testing.T) {
	for _, tt := range []struct {
		name   string
		lines  []result.Interval
		to     float64
		rps    float64
		outage int
	}{
		{"right after the phase began", []result.Interval{begin(0, 0, 10)}, 0, 0, 0},
		{"in the middle", []result.Interval{begin(0, 0, 10), interval(0, 0, 4, okCell("set", 1, every(1, 0, 400)...))}, 4, 100, 0},
		{"in an outage", []result.Interval{begin(0, 0, 10), interval(0, 0, 4, okCell("set", 1, every(1, 0, 200)...))}, 4, 50, 1},
		{"while the last answers were waited for", []result.Interval{begin(0, 0, 10), interval(0, 0, 10, okCell("set", 1, every(1, 0, 1000)...)), interval(0, 10, 15)}, 10, 100, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := summary(t, runOf("set"), tt.lines...)
			p := s.Phases[0]
			if s.Complete || p.ToS != tt.to || p.Ops["set"].RPS != tt.rps || len(s.Outages) != tt.outage {
				t.Errorf("complete=%v, to %v s, %v/s, outages %+v", s.Complete, p.ToS, p.Ops["set"].RPS, s.Outages)
			}
			if !slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, "did not come to its end") }) {
				t.Errorf("warnings are %q", s.Warnings)
			}
		})
	}
}

func TestLineOfAPhaseThatIsNotPlannedIsAnError(t *testing.T) {
	for _, phase := range []int{-2, 2} {
		if err := NewBuilder(runOf("set")).Add(interval(phase, 0, 1)); err == nil || !strings.Contains(err.Error(), "the run has 2") {
			t.Errorf("phase %d: %v", phase, err)
		}
	}
	broken := result.Cell{Op: "set", OK: 1, Service: "no histogram"}
	if err := NewBuilder(runOf("set")).Add(interval(0, 3, 4, broken)); err == nil || !strings.Contains(err.Error(), "interval at 3.000 s, set: ") {
		t.Errorf("broken histogram: %v", err)
	}
}

func TestWindowIsEmptyAfterItIsClosed(t *testing.T) {
	var w Window
	for _, buckets := range [][]uint64{{1, 2}, {3}} {
		if err := w.Add(okCell("set", 10, buckets...)); err != nil {
			t.Fatal(err)
		}
	}
	if o := w.Close(2)["set"]; o.OK != 3 || o.RPS != 1.5 || o.LatencyUS.Max != 10 {
		t.Errorf("window is %+v", o)
	}
	if got := w.Close(0); !reflect.DeepEqual(got, map[string]result.OpSummary{}) {
		t.Errorf("closed window has %+v", got)
	}
}
