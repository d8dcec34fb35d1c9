package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rankbench/rankbench/internal/result"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (-update writes it anew); got:\n%s\nwant:\n%s", path, got, want)
	}
}

var started = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// everything is a summary with all there can be in one.
func everything() result.Summary {
	op := func(due, ok, unsent uint64, rps, us float64, errors map[string]uint64) result.OpSummary {
		q := result.Quantiles{Mean: us, P50: us * 0.8, P90: us * 2, P99: us * 10, P999: us * 100, Max: us * 3000}
		return result.OpSummary{Due: due, OK: ok, Unsent: unsent, Errors: errors, RPS: rps, LatencyUS: q, ServiceUS: q}
	}
	roles := func(names ...string) (spans []result.RoleSpan) {
		for i, n := range names {
			spans = append(spans, result.RoleSpan{FromS: float64(i), Role: n})
		}
		return spans
	}
	nodes := []result.Node{
		{ID: "lb-0001-001", Addr: "127.0.0.1:7001", Roles: roles("primary", "unreachable", "replica"), Commands: map[string]uint64{"zadd": 123_456, "zscore": 7},
			CPUPct: new(83.4), NetInBytesPerMin: new(999_700.0), NetOutBytesPerMin: new(12_345_678.0), Driver: &result.DriverSample{Attempts: 200_000, Errors: 212}},
		{ID: "lb-0001-002", Addr: "127.0.0.1:7002", Roles: roles("replica", "primary"), Commands: map[string]uint64{"zscore": 1_000_000, "zcount": 1_000_000, "zrevrange": 3},
			Replicated: map[string]uint64{"zadd": 123_450}, CPUPct: new(7.0), NetInBytesPerMin: new(1.5e9), NetOutBytesPerMin: new(0.0)},
	}
	return result.Summary{
		Version: 1, Scenario: "failover-set-get-r2", Started: started, DurationS: 725.04, Complete: true,
		Phases: []result.Phase{
			{Name: "mixed", FromS: 5, ToS: 605, Nodes: nodes, Ops: map[string]result.OpSummary{
				"find_by_order": op(0, 0, 0, 0, 0, nil),
				"find":          op(1000, 1000, 0, 1.7, 99_960, map[string]uint64{}),
				"get":           op(600_000, 599_999, 1, 999.998, 999.6, map[string]uint64{}),
				"set":           op(500_500, 500_000, 200, 833.33, 312.4, map[string]uint64{"refused": 212, "clusterdown": 80, "timeout": 8}),
			}},
			{Name: "quiet", FromS: 605, ToS: 725, Ops: map[string]result.OpSummary{"get": op(10, 0, 0, 0, 0, map[string]uint64{"dns": 10})}},
		},
		Outages: []result.Outage{
			{Op: "set", Phase: "mixed", FromS: 20.12, ToS: 28.51, DurationS: 8.39, Errors: map[string]uint64{"refused": 212, "clusterdown": 80}, Unsent: 200},
			{Op: "set", Phase: "mixed", FromS: 100, ToS: 101.5, DurationS: 1.5, Errors: map[string]uint64{}, Unsent: 3},
			{Op: "get", Phase: "quiet", FromS: 605, ToS: 725, DurationS: 120, Open: true, Errors: map[string]uint64{"dns": 10}},
		},
		Client: result.Client{
			CPUPct: 141.7, HostCPUPct: 93.2, CPUUSPerCommand: 12.34, Commands: 2_345_678, RSSBytes: 123_456_789, GCCycles: 17, GCPauseS: 0.0123,
			SchedUSP99: 999.7, SlipUSP99: 1180, PoolWaits: 42, PoolWaitS: 1.2345, PoolTimeouts: 3, Bottleneck: true, Reason: "reason",
		},
		Events: []result.Event{
			{AtS: 20, Source: "elasticache", Subject: "lb", Message: "Test Failover API called for node group 0001"},
			{AtS: 28.456, Source: "node", Subject: "lb-0001-002", Message: "replica → primary"},
		},
		Limits: []result.Limit{
			{Name: "set.outage", Want: "<= 60s", Got: "8.39s", OK: true}, {Name: "get.p99", Want: "<= 20ms", Got: "no success"},
			{Name: "client_bottleneck", Want: "no", Got: "yes"},
		},
		Verdict: "fail", Warnings: []string{"the client was the bottleneck (reason)", "mixed: 200 of 500500 operations of set were not sent"},
	}
}

func printed(t *testing.T, s result.Summary) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTextTellsEverything(t *testing.T) { golden(t, "everything.txt", printed(t, everything())) }

func TestTextOfARunWithoutTrouble(t *testing.T) {
	s := everything()
	s.Phases, s.Outages, s.Events, s.Limits, s.Warnings = s.Phases[:1], nil, nil, nil, nil
	s.Phases[0].Nodes, s.Client.HostCPUPct = nil, -1
	golden(t, "quiet.txt", printed(t, s))
}

func TestTextIsTheSameEveryTime(t *testing.T) {
	want := printed(t, everything())
	for range 20 { // maps have no order
		if got := printed(t, everything()); !bytes.Equal(got, want) {
			t.Fatalf("got:\n%s\nwant:\n%s", got, want)
		}
	}
}

func TestTitleSaysHowTheRunEnded(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		interrupted, complete bool
		want                  string
	}{
		{"whole", false, true, "s: 2s from 2026-11-20T10:00:00Z\n"},
		{"interrupted", true, true, "s: 2s from 2026-11-20T10:00:00Z, interrupted\n"},
		{"killed", false, false, "s: 2s from 2026-11-20T10:00:00Z, killed\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := result.Summary{Scenario: "s", DurationS: 2.04, Started: started, Interrupted: tt.interrupted, Complete: tt.complete}
			if got := string(printed(t, s)); !strings.HasPrefix(got, "\n"+tt.want) {
				t.Errorf("text begins %q, want %q", got[:60], tt.want)
			}
		})
	}
}

func TestLinesAreCompleteInThemselves(t *testing.T) {
	var b bytes.Buffer
	ops := everything().Phases[0].Ops
	for _, p := range []Period{
		{Wall: started.Add(20 * time.Second), Phase: "mixed", Warmup: true, Seconds: 10, Ops: map[string]result.OpSummary{"get": ops["get"]}},
		{Wall: started.Add(30 * time.Second), Phase: "mixed", Seconds: 10, Ops: ops},
		{Wall: started.Add(40 * time.Second), Phase: "quiet", Seconds: 10, Ops: everything().Phases[1].Ops},
	} {
		if err := Lines(&b, p); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "lines.txt", b.Bytes())
}

func TestUnitsChangeWhereTheRoundedFigureDoes(t *testing.T) {
	for us, want := range map[float64]string{
		0: "-", 1: "1µs", 312.4: "312µs", 999.4: "999µs", 999.6: "1.00ms", 1000: "1.00ms", 1923: "1.92ms", 9994: "9.99ms", 9996: "10.0ms",
		99_940: "99.9ms", 99_960: "100ms", 999_400: "999ms", 999_600: "1.00s", 1e6: "1.00s", 12.5e6: "12.5s", 99.96e6: "100s", 3600e6: "3600s",
	} {
		if got := micros(us); got != want {
			t.Errorf("%v µs is %s, want %s", us, got, want)
		}
	}
	for n, want := range map[float64]string{
		0: "0 B", 999: "999 B", 999.4: "999 B", 999.6: "1 kB", 1000: "1 kB", 999_499: "999 kB", 999_600: "1 MB", 12_345_678: "12.3 MB", 999.7e6: "1 GB", 1.5e12: "1.5 TB",
	} {
		if got := size(n); got != want {
			t.Errorf("%v bytes are %s, want %s", n, got, want)
		}
	}
}

// lines are the intervals of a small run: 1 s of success, then 2 s of none.
func lines(t *testing.T) []result.Interval {
	t.Helper()
	h := hdr.New(1, 86_400_000_000, 2)
	if err := h.RecordValues(1500, 100); err != nil {
		t.Fatal(err)
	}
	service, err := result.EncodeHistogram(h)
	if err != nil {
		t.Fatal(err)
	}
	ok := result.Cell{Op: "set", OK: 100, Service: service, ServiceSumUS: 150_000, ServiceMaxUS: 1510, OKAt: result.Series{N: make([]uint32, 100)}}
	for i := range ok.OKAt.N {
		ok.OKAt.N[i] = 1
	}
	bad := result.Cell{Op: "set", Errors: map[string]result.Failure{"refused": {N: 2, At: [][2]uint64{{101, 1}, {250, 1}}}}}
	node := result.NodeSample{ID: "a", Addr: "a:1", Up: true, Role: "primary", RunID: "x"}
	mark := func(begin bool) *result.PhaseBoundary {
		return &result.PhaseBoundary{Begin: begin, End: !begin, MeasuredToS: 3, Claimed: map[string]uint64{"set": 102}}
	}
	return []result.Interval{
		{Phase: 0, Mark: mark(true), Nodes: []result.NodeSample{node}},
		{FromS: 0, ToS: 1, Phase: 0, Cells: []result.Cell{ok}, Self: &result.SelfSample{AtS: 1, HostCPUPct: 5}},
		{FromS: 1, ToS: 3, Phase: 0, Cells: []result.Cell{bad}, Self: &result.SelfSample{AtS: 3, CPUSeconds: 1, Commands: 70, HostCPUPct: 5}},
		{FromS: 3, ToS: 3, Phase: 0, Mark: mark(false)},
		{FromS: 3, ToS: 3, Phase: -1, End: &result.RunEnd{}},
	}
}

func folder(t *testing.T) string {
	t.Helper()
	path := t.TempDir()
	f, err := result.Create(path, result.Run{
		Version: result.Version, Scenario: "small", Started: started, OutageThresholdS: 1,
		Phases: []result.RunPhase{{Name: "only", DurationS: 3, Ops: []string{"set"}}},
		Limits: []result.RunLimit{{Op: "set", Metric: "p99", Want: 0.002}, {Op: "set", Metric: "outage", Want: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, iv := range lines(t) {
		err = errors.Join(err, f.Interval(iv))
	}
	if err := errors.Join(err, f.Event(result.Event{AtS: 1, Subject: "a", Message: "gone"}), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

func summarize(t *testing.T, path string) result.Summary {
	t.Helper()
	s, err := Summarize(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSummaryOfAFolderIsSummaryJSON(t *testing.T) {
	path := folder(t)
	s := summarize(t, path)
	if err := WriteSummary(path, s); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(path, result.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "summary.json", file)
	var read result.Summary
	if err := json.Unmarshal(file, &read); err != nil {
		t.Fatal(err)
	}
	for name, same := range map[string]result.Summary{"read back": read, "made again": summarize(t, path)} {
		var b bytes.Buffer
		if err := result.EncodeJSON(&b, same); err != nil || !bytes.Equal(b.Bytes(), file) {
			t.Errorf("%s (%v):\n%s", name, err, b.Bytes())
		}
	}
}

func TestFolderOfAKilledRunIsSummarized(t *testing.T) {
	path := folder(t)
	file := filepath.Join(path, result.IntervalsFile)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	third := bytes.Join(bytes.SplitAfter(whole, []byte("\n"))[:3], nil)
	if err := os.WriteFile(file, third[:len(third)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	s := summarize(t, path)
	if s.Complete || s.Phases[0].Ops["set"].OK != 100 || s.Phases[0].ToS != 1 {
		t.Errorf("complete=%v, %+v", s.Complete, s.Phases)
	}
	if all := strings.Join(s.Warnings, "\n"); !strings.Contains(all, "the last interval is cut off") || !strings.Contains(all, "did not come to its end") {
		t.Errorf("warnings are %q", s.Warnings)
	}
}

func TestFolderThatCannotBeReadIsAnError(t *testing.T) {
	for _, missing := range []string{result.RunFile, result.IntervalsFile} {
		path := folder(t)
		if err := os.Remove(filepath.Join(path, missing)); err != nil {
			t.Fatal(err)
		}
		if _, err := Summarize(path); err == nil || !strings.HasPrefix(err.Error(), "read run") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
}

// full is a writer that takes nothing, as a closed pipe.
type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestFailedWritesAreTold(t *testing.T) {
	for name, err := range map[string]error{
		"text": Text(full{}, everything()), "JSON": result.EncodeJSON(full{}, everything()), "lines": Lines(full{}, Period{}),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
