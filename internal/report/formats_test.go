package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

const failoverSource = `name: failover-set-get-r2
ranking: { members: 20_000, score_spread: 100 }
topology: { shards: 1, replicas: 2 }
phases:
  - { name: mixed, warmup: 5s, duration: 10m, ops: { set: { workers: 50 }, find: { rate: 500, members: 20 } } }
  - { name: quiet, duration: 2m, ops: { set: { workers: 8 }, find_by_order: { rows: 7 } } }
drill:
  steps:
    - { at: 2m, test_failover: { node_group: "0001" } }
    - { after: recovered, delay: 1m, increase_replicas: { count: 3 } }
`

// failoverRun is the run.json of a drill.
func failoverRun() result.Run {
	return result.Run{
		Version: 1, Command: "drill", Scenario: "failover-set-get-r2", Source: failoverSource, ReadFrom: "replica", Local: true, Started: started,
		Versions: map[string]string{"rankbench": "v1.2.3", "server": "redis 7.0.15"}, Host: result.Host{Name: "vm", OS: "linux", Arch: "amd64", CPU: "EPYC", CPUs: 2},
		Config: map[string]any{
			"client": map[string]any{"profile": "tuned", "options": map[string]any{"pool_size": "10"}},
			"target": map[string]any{"mode": "cluster", "tls": false, "addresses": []any{"127.0.0.1:7001"}},
		},
	}
}

// failover is the summary of a drill with two steps.
func failover() result.Summary {
	s := everything()
	op := func(rps, p99 float64) map[string]result.StretchOp {
		return map[string]result.StretchOp{"get": {RPS: &rps, P99US: &p99}, "set": {RPS: &rps, P99US: &p99, Failed: 3}}
	}
	s.Stretches = []result.Stretch{
		{Name: "baseline", ToS: 20, Ops: op(21812.4, 4100)},
		{Name: "during", Step: 1, FromS: 20, ToS: 20.5, Ops: map[string]result.StretchOp{"set": {Failed: 9}}},
		{Name: "alone", Step: 1, FromS: 20.5, ToS: 60, Ops: op(25000, 5100)},
		{Name: "between", Step: 1, FromS: 60, ToS: 70, Ops: op(21000, 6100)},
		{Name: "during", Step: 2, FromS: 70, ToS: 80, Ops: op(20000, 7100)},
		{Name: "restored", Step: 2, FromS: 80, ToS: 725, Ops: op(21900, 4000)},
	}
	s.Outages[0].ServiceS, s.Outages[0].ClientS = new(7.9), new(0.49)
	s.Audit = &result.Audit{Acknowledged: 500_000, Lost: 212, LostWindowS: 0.31}
	s.FailedSteps = []string{"increase_replicas: quota exceeded"}
	return s
}

func markdownOf(t *testing.T, run result.Run, s result.Summary) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Markdown(&b, run, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMarkdownOfADrill(t *testing.T) {
	golden(t, "drill.md", markdownOf(t, failoverRun(), failover()))
}

func TestMarkdownOfALoad(t *testing.T) {
	s := everything()
	s.Interrupted = true
	run := failoverRun()
	run.Command, run.Source, run.Local = "load", "not: [a scenario", false
	run.Config["target"] = map[string]any{"mode": "endpoints", "tls": true, "primary": "lb.example.com:6379", "reader": "lb-ro.example.com:6379"}
	golden(t, "load.md", markdownOf(t, run, s))
}

func TestCSVHasARowForEachIntervalOperationAndClass(t *testing.T) {
	var b bytes.Buffer
	path := folder(t)
	if err := CSV(&b, []string{path}); err != nil {
		t.Fatal(err)
	}
	golden(t, "intervals.csv", bytes.ReplaceAll(b.Bytes(), []byte(path), []byte("RUN")))
}

func TestCSVOfARunThatWasKilledHasWhatWasSeen(t *testing.T) {
	path := folder(t)
	file := filepath.Join(path, result.IntervalsFile)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(bytes.Join(bytes.SplitAfter(whole, []byte("\n"))[:2], nil), `{"from_s": 1, "ce`...), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := CSV(&b, []string{path}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 2 || rows[1][6] != "ok" || rows[1][7] != "100" {
		t.Errorf("%v %q", err, rows)
	}
}

// TestCSVShowsAnOutageAsZero: an interval in which nothing ended has its row.
func TestCSVShowsAnOutageAsZero(t *testing.T) {
	f, err := result.Create(t.TempDir(), result.Run{
		Version: result.Version, Phases: []result.RunPhase{{Name: "p", Ops: []string{"set", "get"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := []result.Interval{
		{FromS: 0, ToS: 0.0001, Mark: &result.PhaseBoundary{Begin: true, MeasuredFromS: 1, MeasuredToS: 3}},
		{FromS: 0.0001, ToS: 1, Cells: []result.Cell{{Op: "get", Warmup: true, OK: 5}}},
		{FromS: 1, ToS: 2, Cells: []result.Cell{{Op: "set", OK: 0, Unsent: 4}}},
	}
	for _, iv := range lines {
		err = errors.Join(err, f.Interval(iv))
	}
	var b bytes.Buffer
	if err := errors.Join(err, f.Close(), CSV(&b, []string{f.Path()})); err != nil {
		t.Fatal(err)
	}
	want := "0,1,p,true,get,ok,5,5.001,,,\n0,1,p,true,set,ok,0,0,,,\n1,2,p,false,set,ok,0,0,,,\n1,2,p,false,set,unsent,4,,,,\n1,2,p,false,get,ok,0,0,,,\n"
	_, got, _ := strings.Cut(strings.ReplaceAll(b.String(), f.Path()+",", ""), "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
