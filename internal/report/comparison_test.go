package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rankbench/rankbench/internal/analyze"
	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/result"
)

// three are runs of one spread with rates and latencies around these.
func three(spread string, rps, us float64) []compare.Run {
	var runs []compare.Run
	for i, part := range []float64{1, 1.01, 0.98} {
		s := everything()
		s.Phases = s.Phases[:1]
		s.Phases[0].Ops = map[string]result.OpSummary{}
		for _, op := range []string{"set", "find"} {
			v := part
			if op == "find" {
				v *= rps
			}
			q := result.Quantiles{P50: us / part, P99: 4 * us / part, Max: 1000 * part}
			s.Phases[0].Ops[op] = result.OpSummary{Due: 1000, OK: 1000, RPS: 1000 * v, LatencyUS: q}
		}
		s.Outages, s.Limits, s.Client.Bottleneck, s.Client.Reason = nil, nil, i == 0, "pool"
		runs = append(runs, compare.Run{
			Folder: "results/" + spread + "-" + string(rune('a'+i)), Summary: s,
			Conditions: compare.Conditions{{Key: "scenario", Value: "load-3-spread-" + spread}, {Key: "members", Value: "20000"}, {Key: "score_spread", Value: spread}},
		})
	}
	return runs
}

func compared(t *testing.T, runs []compare.Run) compare.Table {
	t.Helper()
	table, err := compare.Compare(runs, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// writers are what a comparison can be written as.
var writers = map[string]func(io.Writer, compare.Table) error{
	"txt": ComparisonText, "md": ComparisonMarkdown, "csv": ComparisonCSV,
	"json": func(w io.Writer, t compare.Table) error { return result.EncodeJSON(w, t) },
}

func TestComparisonOfTwoSpreads(t *testing.T) {
	table := compared(t, append(three("100000", 1.5, 100), three("100", 4.7, 101)...))
	for ending, write := range writers {
		var b bytes.Buffer
		if err := write(&b, table); err != nil {
			t.Fatal(err)
		}
		golden(t, "spreads."+ending, b.Bytes())
	}
}

func TestComparisonOfRepeatsSaysThatNothingDiffers(t *testing.T) {
	runs := append(three("100", 1, 100), three("100", 1.001, 100)...)
	for i := range runs {
		runs[i].Folder += string(rune('0' + i))
	}
	var b bytes.Buffer
	if err := ComparisonText(&b, compared(t, runs)); err != nil {
		t.Fatal(err)
	}
	golden(t, "repeats.txt", b.Bytes())
}

func TestComparisonOfSingleRunsSaysThatNothingCanBeTold(t *testing.T) {
	a, b := three("100", 1, 100)[0], three("7", 4, 100)[0]
	b.Conditions = append(b.Conditions, compare.Condition{Key: "client.max_retry_backoff", Value: strings.Repeat("9", 40)})
	var out bytes.Buffer
	if err := ComparisonText(&out, compared(t, []compare.Run{a, b})); err != nil {
		t.Fatal(err)
	}
	golden(t, "single.txt", out.Bytes())
}

func TestFailedWritesOfComparisonsAreTold(t *testing.T) {
	table := compared(t, three("100", 1, 100))
	for ending, write := range writers {
		if err := write(full{}, table); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", ending, err)
		}
	}
	for name, err := range map[string]error{
		"markdown": Markdown(full{}, failoverRun(), everything()), "csv": CSV(full{}, []string{folder(t)}), "warnings": Warnings(full{}, "f", everything()),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestComparisonAndSeriesHaveTheSameFigures: what a repeated drill prints and what
// compare prints of its runs must not disagree.
func TestComparisonAndSeriesHaveTheSameFigures(t *testing.T) {
	s := failover()
	s.Phases, s.FailedSteps = s.Phases[:1], nil
	s.Levels = map[string]result.Level{"set": {BaselineRPS: new(1.5), DegradedRPS: new(2.5), RestoredRPS: new(3.5)}}
	s.ServiceOutages = []result.ServiceOutage{{What: "write", DurationS: 7.9}}
	s.Events = append(s.Events, result.Event{AtS: 30, Kind: result.StepBegins, Subject: "reboot"}, result.Event{AtS: 42, Kind: result.StepRecovered, Subject: "reboot"})
	table := compared(t, []compare.Run{{Folder: "a", Summary: s}, {Folder: "b", Summary: s}})
	names := strings.NewReplacer("service.write.outage", "service.write_outage", "service.read.outage", "service.read_outage", ".failed", ".errors", "outage.", "outage_",
		"baseline", "baseline_rps", "degraded", "degraded_rps", "restored", "restored_rps")
	same := 0
	for _, f := range analyze.Figures([]result.Summary{s}) {
		name := names.Replace(f.Name)
		for _, r := range table.Rows {
			if r.Of+"."+r.Value != name && "run."+name != r.Of+"."+r.Value {
				continue
			}
			if same++; r.Cells[0].Mean != f.Mean || r.Unit != f.Unit {
				t.Errorf("%s is %v %s, of the series %v %s", name, r.Cells[0].Mean, r.Unit, f.Mean, f.Unit)
			}
		}
	}
	if same < 15 {
		t.Errorf("%d figures in common", same)
	}
}

func TestASeriesCountsAsItsRuns(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"run-01", "run-02", "run-03", "run-03.cut-off-20260101-000000"} { // 03 did not come to its end
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(folder(t))); err != nil {
			t.Fatal(err)
		}
	}
	series := result.Repeats{Version: 1, Runs: []result.RepeatRun{{Folder: "run-01"}, {Folder: "run-02"}}}
	if err := result.WriteJSON(filepath.Join(dir, result.RepeatsFile), series); err != nil {
		t.Fatal(err)
	}
	single := folder(t)
	runs, err := ReadRuns([]string{dir, single})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range runs {
		got = append(got, r.Folder+" in "+r.Parent)
	}
	var want []string
	for _, n := range []string{"run-01", "run-02", "run-03"} {
		want = append(want, filepath.Join(dir, n)+" in "+filepath.Base(dir))
	}
	if want = append(want, single+" in "+filepath.Base(filepath.Dir(single))); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatIsNoRunIsSaid(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ name, file, text, want string }{
		{"nothing", "", "", "there is no run.json in it"},
		{"a series without runs", result.RepeatsFile, "{}", "there is no run in it"},
		{"a damaged series", result.RepeatsFile, "{", "read series"},
		{"a series whose run is gone", result.RepeatsFile, `{"runs": [{"folder": "run-01"}]}`, "there is no run.json in it"},
		{"a newer run", result.RunFile, `{"version": 99}`, "its format is version 99"},
	} {
		path := filepath.Join(dir, tt.name)
		if err := os.Mkdir(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if tt.file != "" {
			if err := os.WriteFile(filepath.Join(path, tt.file), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ReadRuns([]string{path}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestConditionsOfARun(t *testing.T) {
	s := everything()
	s.Nodes = s.Phases[0].Nodes
	value := func(change func(*result.Run), key string) string {
		run := failoverRun()
		change(&run)
		return conditions(run, s).Get(key)
	}
	as := func(*result.Run) {}
	source := func(from, to string) func(*result.Run) {
		return func(r *result.Run) { r.Source = strings.Replace(r.Source, from, to, 1) }
	}
	for _, tt := range []struct {
		name, key, want string
		change          func(*result.Run)
	}{
		{"as written", "score_spread", "100", as}, {"as written", "replicas", "2", as}, {"several phases", "set.workers", "50, 8", as},
		{"an open loop", "find.rate", "500", as}, {"a closed loop", "set.rate", compare.NotSet, as}, {"asked for", "find.members", "20", as}, {"asked for", "find_by_order.rows", "7", as},
		{"the phases", "phases", "mixed 10m0s after 5s, quiet 2m0s", as}, {"the steps", "steps", "test_failover 0001 at 2m0s, increase_replicas to 3 1m0s after recovery", as},
		{"a load has no steps", "steps", compare.NotSet, func(r *result.Run) { r.Command = "load" }},
		{"no topology: what the nodes were", "replicas", "1", source("topology: { shards: 1, replicas: 2 }\n", "")},
		{"an option", "client.pool_size", "10", as}, {"a profile", "client.profile", "tuned", as}, {"a version", "server", "redis 7.0.15", as},
		{"local", "target", "local", as}, {"on loopback", "target", "local", func(r *result.Run) { r.Local = false }},
		{"an unreadable scenario", "scenario_text", "e3b0c44298fc", func(r *result.Run) { r.Source = "" }},
	} {
		if got := value(tt.change, tt.key); got != tt.want {
			t.Errorf("%s: %s is %q, want %q", tt.name, tt.key, got, tt.want)
		}
	}
}

// TestJSONOfAComparisonIsRead holds the keys.
func TestJSONOfAComparisonIsRead(t *testing.T) {
	var b bytes.Buffer
	if err := result.EncodeJSON(&b, compared(t, append(three("1", 1, 100), three("2", 5, 100)...))); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Groups []struct{ Conditions map[string]string }
		Rows   []struct {
			Of    string
			Cells []struct {
				Difference *struct{ Verdict string }
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if read.Groups[1].Conditions["score_spread"] != "2" || read.Rows[0].Cells[0].Difference != nil || read.Rows[0].Cells[1].Difference.Verdict == "" {
		t.Errorf("%+v", read)
	}
}
