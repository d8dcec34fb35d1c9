package analyze

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

// probed adds the answers to a question, by bucket, to an interval.
func probed(iv result.Interval, name string, buckets ...uint64) result.Interval {
	iv.Probe = append(iv.Probe, result.ProbeCell{Name: name, Asked: uint64(len(buckets)), OKAt: okCell("", 1, buckets...).OKAt})
	return iv
}

// drilled is a run of 10 s: the load's Set fails from 3 s to 6 s, the service's
// write from 3.02 s to 5.5 s, its read never.
func drilled(readFrom string) (result.Run, []result.Interval) {
	run := runOf("set", "get")
	run.ReadFrom = readFrom
	set := fail(okCell("set", 1000, append(every(1, 0, 300), every(1, 600, 1000)...)...), "refused", every(10, 300, 600)...)
	get := okCell("get", 500, append(every(1, 0, 300), every(1, 500, 1000)...)...)
	iv := interval(0, 0, 10, set, get)
	iv = probed(iv, "write", append(every(2, 0, 302), every(2, 550, 1000)...)...)
	iv = probed(iv, "read", every(2, 0, 1000)...)
	iv = probed(iv, "read_primary", append(every(2, 0, 302), every(2, 550, 1000)...)...)
	return run, []result.Interval{begin(0, 0, 10), iv, end(0, 0, 10, nil), last(10)}
}

func TestOutagesAreSplitIntoServiceAndClient(t *testing.T) {
	for readFrom, want := range map[string][]float64{
		// set: 3.01 … 5.50 of 3.00 … 6.00; get: 3.00 … 5.00, when replicas answered and the primary did not
		"replica": {2.49, 0.51, 0, 2}, "random": {2.49, 0.51, 0, 2}, "primary": {2.49, 0.51, 1.99, 0.01},
	} {
		run, lines := drilled(readFrom)
		s := summary(t, run, lines...)
		if len(s.Outages) != 2 {
			t.Fatalf("%s: outages %+v", readFrom, s.Outages)
		}
		got := []float64{*s.Outages[0].ServiceS, *s.Outages[0].ClientS, *s.Outages[1].ServiceS, *s.Outages[1].ClientS}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", readFrom, got, want)
		}
	}
}

func TestServiceOutagesAreTheProbesOwn(t *testing.T) {
	run, lines := drilled("replica")
	got := summary(t, run, lines...).ServiceOutages
	want := []result.ServiceOutage{{What: "write", FromS: 3.01, ToS: 5.5, DurationS: 2.49}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// While rankbench itself did not run, its probe was silent, too.
func TestAPauseIsNeitherServiceNorClient(t *testing.T) {
	run, lines := drilled("replica")
	lines[1].Self = &result.SelfSample{AtS: 10, Pauses: []result.Pause{{FromS: 3.5, ToS: 4.5}}}
	s := summary(t, run, lines...)
	if o := s.Outages[0]; o.PausedS != 1 || *o.ServiceS != 1.49 || *o.ClientS != 0.51 {
		t.Errorf("paused %v, service %v, client %v", o.PausedS, *o.ServiceS, *o.ClientS)
	}
	if o := s.ServiceOutages[0]; o.PausedS != 1 || o.DurationS != 1.49 {
		t.Errorf("service outage %+v", o)
	}
}

func TestWithoutAProbeNothingIsSplit(t *testing.T) {
	run, lines := drilled("replica")
	lines[1].Probe = nil
	s := summary(t, run, lines...)
	if s.Outages[0].ServiceS != nil || s.Outages[0].ClientS != nil || s.ServiceOutages != nil {
		t.Errorf("outage %+v, of the service %+v", s.Outages[0], s.ServiceOutages)
	}
}

// bySecond is 20 s of load: 100 Sets a second, none from 5 s to 7 s, then 50, and
// 100 again from 15 s on; slow until 17 s.
func bySecond() []result.Interval {
	lines := []result.Interval{begin(0, 0, 20)}
	for s := uint64(0); s < 20; s++ {
		step, us := uint64(1), int64(1000)
		if s >= 7 && s < 15 {
			step = 2
		}
		if s >= 7 && s < 17 {
			us = 5000
		}
		cell := okCell("set", us, every(step, s*100, s*100+100)...)
		if s == 5 || s == 6 {
			cell = fail(result.Cell{Op: "set"}, "refused", s*100, s*100+50)
		}
		iv := interval(0, float64(s), float64(s+1), cell)
		iv.Nodes = []result.NodeSample{{AtS: float64(s), ID: "a", Up: true, RunID: "r", CPUSeconds: float64(s) / 2, Commands: map[string]uint64{"zadd": s * 100}}}
		lines = append(lines, iv)
	}
	return append(lines, end(0, 0, 20, nil), last(20))
}

func stretched(t *testing.T, events ...result.Event) result.Summary {
	t.Helper()
	run := runOf("set")
	s := summary(t, run, bySecond()...)
	s.Events = events
	st := NewStretches(s)
	for _, iv := range bySecond() {
		if err := st.Add(iv); err != nil {
			t.Fatal(err)
		}
	}
	if st.Any() {
		st.Apply(&s)
	}
	return s
}

func TestStretchesOfAFailover(t *testing.T) {
	s := stretched(t, result.Event{AtS: 4.9, Kind: result.StepBegins}, result.Event{AtS: 6.5, Kind: result.NewPrimary}, result.Event{AtS: 15, Kind: result.StepRecovered})
	var got []string
	for _, st := range s.Stretches {
		got = append(got, st.Name)
	}
	if want := []string{Baseline, Alone, Restored}; !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	alone := s.Stretches[1]
	if alone.FromS != 7 || alone.ToS != 15 || alone.Step != 1 || *alone.Ops["set"].RPS != 50 || alone.Ops["set"].Failed != 0 || *alone.Ops["set"].P99US < 4900 {
		t.Errorf("alone: %+v", alone)
	}
	if n := alone.Nodes[0]; n.Commands["zadd"] != 800 || *n.CPUPct != 50 {
		t.Errorf("node while alone: %+v", n)
	}
	l := s.Levels["set"]
	if *l.BaselineRPS != 100 || *l.DegradedRPS != 50 || *l.RestoredRPS != 100 {
		t.Errorf("levels %v %v %v", *l.BaselineRPS, *l.DegradedRPS, *l.RestoredRPS)
	}
	if l.BackToP99S == nil || *l.BackToP99S != 12.1 { // from 4.9 s to 17 s
		t.Errorf("back to the baseline's p99 after %v", l.BackToP99S)
	}
}

func TestStretchesOfSeveralSteps(t *testing.T) {
	s := stretched(t, result.Event{AtS: 2, Kind: result.StepBegins}, result.Event{AtS: 4, Kind: result.StepRecovered}, result.Event{AtS: 4.5, Kind: result.NewPrimary},
		result.Event{AtS: 8, Kind: result.StepBegins}, result.Event{AtS: 12, Kind: result.StepRecovered})
	type named struct {
		name     string
		step     int
		from, to float64
	}
	var got []named
	for _, st := range s.Stretches {
		got = append(got, named{st.Name, st.Step, st.FromS, st.ToS})
	}
	want := []named{{Baseline, 0, 0, 2}, {During, 1, 2, 4}, {Between, 0, 4, 8}, {During, 2, 8, 12}, {Restored, 0, 12, 20}}
	if !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if s.Stretches[2].Ops["set"].Failed != 4 {
		t.Errorf("failed between: %d", s.Stretches[2].Ops["set"].Failed)
	}
}

func TestAStepThatNeverRecoversLastsToTheEnd(t *testing.T) {
	s := stretched(t, result.Event{AtS: 4.9, Kind: result.StepBegins}, result.Event{AtS: 6.5, Kind: result.NewPrimary})
	if n := len(s.Stretches); n != 2 || s.Stretches[1].Name != Alone || s.Stretches[1].ToS != 20 || s.Levels["set"].RestoredRPS != nil {
		t.Errorf("%+v, levels %+v", s.Stretches, s.Levels)
	}
	if none := stretched(t); none.Stretches != nil || none.Levels != nil {
		t.Error("stretches without a step")
	}
}

// stretchesOf are those of a phase of 10 s with these lines in it.
func stretchesOf(t *testing.T, run result.Run, lines []result.Interval, events ...result.Event) result.Summary {
	t.Helper()
	lines = slices.Concat([]result.Interval{begin(0, 0, 10)}, lines, []result.Interval{end(0, 0, 10, nil), last(10)})
	s := summary(t, run, lines...)
	s.Events = events
	st := NewStretches(s)
	for _, iv := range lines {
		if err := st.Add(iv); err != nil {
			t.Fatal(err)
		}
	}
	st.Apply(&s)
	return s
}

var (
	stepBegins = result.Event{AtS: 4, Kind: result.StepBegins}
	stepEnds   = result.Event{AtS: 6, Kind: result.StepRecovered}
)

func TestNodesOfAStretchAreThoseThatWereSampledInIt(t *testing.T) {
	busy := func(id string, at float64) result.NodeSample {
		return sample(id, "replica", at, calls(0, uint64(10*at)), func(s *result.NodeSample) { s.CPUSeconds, s.NetInBytes = at/2, uint64(100*at) })
	}
	var lines []result.Interval
	for _, s := range []result.NodeSample{
		busy("a", -0.01), busy("a", 1), busy("a", 3), busy("a", 4.02), busy("b", 5), busy("c", 5), busy("c", 5.2), busy("a", 8), busy("a", 9),
	} {
		lines = append(lines, result.Interval{FromS: s.AtS, ToS: s.AtS, Nodes: []result.NodeSample{s}})
	}
	s := stretchesOf(t, runOf("get"), lines, stepBegins, stepEnds)
	type row struct {
		id     string
		cpu    float64 // -1: none
		zscore uint64
	}
	got := map[string][]row{}
	for _, st := range s.Stretches {
		for _, n := range st.Nodes {
			cpu := -1.0
			if n.CPUPct != nil {
				cpu = math.Round(*n.CPUPct)
			}
			if (n.CPUPct == nil) != (n.NetInBytesPerMin == nil) || (n.CPUPct == nil) != (n.NetOutBytesPerMin == nil) {
				t.Errorf("%s: %+v", st.Name, n)
			}
			got[st.Name] = append(got[st.Name], row{n.ID, cpu, n.Commands["zscore"]})
		}
	}
	// A sample at 4.02 s is the end of one stretch and the beginning of the next; two that
	// are 0.2 s apart make no rate, but they do count.
	want := map[string][]row{
		Baseline: {{"a", 50, 40}}, During: {{"a", -1, 0}, {"b", -1, 0}, {"c", -1, 2}}, Restored: {{"a", 50, 10}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestShortStretchesHaveNoRates(t *testing.T) {
	soon := result.Event{AtS: 4.9, Kind: result.StepRecovered}
	s := stretchesOf(t, runOf("set"), []result.Interval{interval(0, 0, 10, okCell("set", 1000, every(1, 0, 1000)...))}, stepBegins, soon)
	during := s.Stretches[1]
	if during.Name != During || during.Ops["set"].RPS != nil || s.Levels["set"].DegradedRPS != nil {
		t.Errorf("%+v, levels %+v", during, s.Levels["set"])
	}
	if l := s.Levels["set"]; *l.BaselineRPS != 100 || l.RestoredRPS == nil {
		t.Errorf("levels %+v", l)
	}
}

// An operation that hangs all the time has no outcome, and is 0 all the same.
func TestOperationsWithoutAnOutcomeAreInTheStretch(t *testing.T) {
	s := stretchesOf(t, runOf("set", "get"), []result.Interval{
		interval(0, 0, 4, okCell("set", 1000, every(1, 0, 400)...), okCell("get", 1000, every(1, 0, 400)...)),
		interval(0, 4, 10, okCell("get", 1000, every(1, 400, 1000)...)),
	}, stepBegins, stepEnds)
	for _, st := range s.Stretches[1:] {
		if rps := st.Ops["set"].RPS; rps == nil || *rps != 0 {
			t.Errorf("%s: %+v", st.Name, st.Ops)
		}
	}
	if l := s.Levels["set"]; l.DegradedRPS == nil || *l.DegradedRPS != 0 {
		t.Errorf("levels %+v", l)
	}
}

func TestAKilledDrillSaysWhatWasNotPutBack(t *testing.T) {
	run, lines := drilled("replica")
	b := NewBuilder(run)
	for _, iv := range lines[:2] {
		if err := b.Add(iv); err != nil {
			t.Fatal(err)
		}
	}
	s := b.Summary([]result.Event{
		{AtS: 1, Kind: result.StepBegins, Subject: "test_failover"}, {AtS: 2, Kind: result.StepRecovered, Subject: "test_failover"},
		{AtS: 3, Kind: result.StepBegins, Subject: "decrease_replicas"}, {AtS: 4, Kind: result.StepRecovered, Subject: "decrease_replicas"},
		{AtS: 5, Kind: result.StepBegins, Subject: "test_failover"},
	})
	for text, want := range map[string]bool{"decrease_replicas had begun at 3.0 s": true, "test_failover had begun at 5.0 s": true, "test_failover had begun at 1.0 s": false} {
		if got := warned(s, text); got != want {
			t.Errorf("%s: %v, warnings %q", text, got, s.Warnings)
		}
	}
}

// TestStretchesEndWithTheLoad: a recovery may take longer.
func TestStretchesEndWithTheLoad(t *testing.T) {
	s := stretchesOf(t, runOf("set"), []result.Interval{interval(0, 0, 10, okCell("set", 1000, every(1, 0, 1000)...))},
		stepBegins, result.Event{AtS: 5, Kind: result.NewPrimary}, result.Event{AtS: 30, Kind: result.StepRecovered})
	alone := s.Stretches[1]
	if len(s.Stretches) != 2 || alone.ToS != 10 || *alone.Ops["set"].RPS != 100 || *s.Levels["set"].DegradedRPS != 100 || s.Levels["set"].RestoredRPS != nil {
		t.Errorf("%+v, levels %+v", s.Stretches, s.Levels["set"])
	}
}

// TestDegradedIsThePrimaryAlone, where a step before it changed no primary.
func TestDegradedIsThePrimaryAlone(t *testing.T) {
	cell := okCell("set", 1000, append(every(1, 0, 600), every(2, 600, 1000)...)...)
	s := stretchesOf(t, runOf("set"), []result.Interval{interval(0, 0, 10, cell)},
		result.Event{AtS: 2, Kind: result.StepBegins}, result.Event{AtS: 4, Kind: result.StepRecovered},
		result.Event{AtS: 5, Kind: result.StepBegins}, result.Event{AtS: 6, Kind: result.NewPrimary}, result.Event{AtS: 9, Kind: result.StepRecovered})
	if rps := s.Levels["set"].DegradedRPS; rps == nil || *rps != 50 {
		t.Errorf("levels %+v", s.Levels["set"])
	}
}

// TestRatesAreOfTheTimeWithLoad: between two phases nothing is sent.
func TestRatesAreOfTheTimeWithLoad(t *testing.T) {
	lines := []result.Interval{
		begin(0, 0, 10), interval(0, 0, 10, okCell("set", 1, every(1, 0, 1000)...)), end(0, 0, 10, nil),
		begin(1, 14, 24), interval(1, 14, 24, okCell("set", 1, every(1, 1400, 2400)...)), end(1, 14, 24, nil), last(24),
	}
	s := summary(t, runOf("set"), lines...)
	s.Events = []result.Event{{AtS: 8, Kind: result.StepBegins}, {AtS: 16, Kind: result.StepRecovered}}
	st := NewStretches(s)
	for _, iv := range lines {
		if err := st.Add(iv); err != nil {
			t.Fatal(err)
		}
	}
	st.Apply(&s)
	for _, got := range s.Stretches {
		if rps := got.Ops["set"].RPS; rps == nil || *rps != 100 {
			t.Errorf("%s: %+v", got.Name, got.Ops["set"])
		}
	}
}

// TestThePrimaryServesReadsWhileItIsAlone: with no replica there, go-redis sends
// reads to it.
func TestThePrimaryServesReadsWhileItIsAlone(t *testing.T) {
	run := runOf("get")
	run.ReadFrom = "replica"
	lines := []result.Interval{begin(0, 0, 10)}
	for i := range uint64(10) {
		iv := interval(0, float64(i), float64(i+1), okCell("get", 500, every(1, i*100, i*100+100)...))
		iv = probed(probed(iv, "write", every(2, i*100, i*100+100)...), "read_primary", every(2, i*100, i*100+100)...)
		switch {
		case i < 3 || i > 7:
			iv = probed(iv, "read", every(2, i*100, i*100+100)...)
		case i == 3:
			iv = probed(iv, "read", every(2, 300, 350)...)
		default:
			iv = probed(iv, "read")
		}
		lines = append(lines, iv)
	}
	if out := summary(t, run, append(lines, end(0, 0, 10, nil), last(10))...).ServiceOutages; len(out) > 0 {
		t.Errorf("outages of the service: %+v", out)
	}
	for i := 5; i <= 7; i++ {
		lines[i].Probe[2].Asked = 50 // a replica is there, and does not answer
	}
	if out := summary(t, run, append(lines, end(0, 0, 10, nil), last(10))...).ServiceOutages; len(out) == 0 {
		t.Error("a replica that does not answer is no outage")
	}
}
