package scenario_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/scenario"
)

const least = `name: x
ranking: { members: 10_000_000 }
phases:
  - duration: 12m
    ops: { get: {} }
`

func parse(t *testing.T, text string, set ...string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("x.yaml", []byte(text), scenario.Overrides{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatIsNotGivenHasItsDefault(t *testing.T) {
	got := parse(t, least)
	want := &scenario.Scenario{
		Name: "x", Seed: 1, Order: "ascending",
		Ranking: ranking.Spec{
			Key: "ranking", Members: 10_000_000, ScoreSpread: 100_000, MemberFormat: ranking.DefaultMemberFormat, Seed: 1,
		},
		OutageThreshold: 500 * time.Millisecond, ErrorPause: 10 * time.Millisecond,
		Phases: []scenario.Phase{{
			Name: "phase-1", Duration: 12 * time.Minute, Ops: []scenario.Load{{Kind: ranking.Get, Workers: 50}},
		}},
		Source: got.Source,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestEveryStepHasItsPlace(t *testing.T) {
	got := parse(t, `
name: drill
ranking: { members: 1000 }
phases: [{ warmup: 1m, duration: 4m, ops: { set: {} } }]
drill:
  settle: 20m
  repeat: 3
  cooldown: 1m
  steps:
    - { at: 30s, test_failover: {} }
    - { after: recovered, delay: 10s, test_failover: { node_group: "0002" } }
    - { at: 2m, increase_replicas: { count: 3, node_group: "0001", restore: true } }
    - { at: 2m, expect: refused, decrease_replicas: { count: 0 } }
    - { after: recovered, decrease_replicas: { nodes: [lb-0001-002], restore: true } }
    - { at: 3m, add_shards: { count: 2 } }
    - { after: recovered, remove_shards: { count: 1, node_groups: ["0002"], restore: true } }
    - { after: recovered, wait: { for: 5s } }
    - { after: recovered, reboot: { node: lb-002 } }
    - { after: recovered, kill: { role: primary } }
    - { after: recovered, hang: { role: replica, node_group: "0001" } }
    - { after: recovered, resume: { node: lb-001 } }
limits: { lost_writes: 7 }
`)
	recovered := func(s scenario.Step) scenario.Step { s.After = scenario.Recovered; return s }
	want := &scenario.Drill{Settle: 20 * time.Minute, Repeat: 3, Cooldown: time.Minute, Steps: []scenario.Step{
		{At: 30 * time.Second, Kind: "test_failover"},
		recovered(scenario.Step{Delay: 10 * time.Second, Kind: "test_failover", NodeGroup: "0002"}),
		{At: 2 * time.Minute, Kind: "increase_replicas", NodeGroup: "0001", Count: 3, Restore: true},
		{At: 2 * time.Minute, Kind: "decrease_replicas", Expect: scenario.Refused},
		recovered(scenario.Step{Kind: "decrease_replicas", Nodes: []string{"lb-0001-002"}, Restore: true}),
		{At: 3 * time.Minute, Kind: "add_shards", Count: 2},
		recovered(scenario.Step{Kind: "remove_shards", Count: 1, Nodes: []string{"0002"}, Restore: true}),
		recovered(scenario.Step{Kind: "wait", For: 5 * time.Second}),
		recovered(scenario.Step{Kind: "reboot", Nodes: []string{"lb-002"}}),
		recovered(scenario.Step{Kind: "kill", Role: "primary"}),
		recovered(scenario.Step{Kind: "hang", Role: "replica", NodeGroup: "0001"}),
		recovered(scenario.Step{Kind: "resume", Nodes: []string{"lb-001"}}),
	}}
	if !reflect.DeepEqual(got.Drill, want) {
		t.Errorf("got  %+v\nwant %+v", got.Drill, want)
	}
	if !got.Audit || len(got.Limits) != 1 || got.Limits[0] != (result.RunLimit{Metric: "lost_writes", Want: 7}) {
		t.Errorf("audit %v, limits %+v", got.Audit, got.Limits)
	}
}

func TestAuditIsOfDrillsThatWrite(t *testing.T) {
	drill := "drill: { steps: [{ at: 0s, test_failover: {} }] }\n"
	for text, want := range map[string]bool{
		least: false, least + drill: false,
		strings.Replace(least, "get", "set", 1): false, strings.Replace(least, "get", "set", 1) + drill: true,
		strings.Replace(least, "get", "set", 1) + "audit: true": true, strings.Replace(least, "get", "set", 1) + drill + "audit: false": false,
	} {
		if got := parse(t, text).Audit; got != want {
			t.Errorf("%v of\n%s", got, text)
		}
	}
}

func TestEveryKeyHasItsPlace(t *testing.T) {
	got := parse(t, `
name: all
about: everything
seed: 7
ranking: { key: "{r}:1", members: 1000, score_spread: 10, member_format: "m%d", order: random }
topology: { shards: 2, replicas: 0, cluster_mode: enabled }
outage_threshold: 1s
error_pause: 0
phases:
  - name: a
    warmup: 30s
    duration: 1m
    ops:
      find_by_order: { rate: 1, rows: 7 }
      find: { rate: 20_000, members: 8, zipf: 0.9, patience: 2s, workers: 5 }
      set: { rate: 1e6, zipf: 1 }
  - duration: 500ms
    ops: { get: { zipf: 0 } }
limits:
  client_bottleneck: forbid
  get: { rps: 1000, unsent: 1, errors: 0, outage: 0s, max: 1s }
  set: { p50: 1ms, p90: 2ms, p99: 3ms, p999: 4ms }
`)
	want := &scenario.Scenario{
		Name: "all", About: "everything", Seed: 7, Order: "random",
		Ranking:         ranking.Spec{Key: "{r}:1", Members: 1000, ScoreSpread: 10, MemberFormat: "m%d", Seed: 7},
		Topology:        &scenario.Topology{Shards: 2, ClusterMode: scenario.Enabled},
		OutageThreshold: time.Second,
		Phases: []scenario.Phase{
			{Name: "a", Warmup: 30 * time.Second, Duration: time.Minute, Ops: []scenario.Load{
				{Kind: ranking.Set, Workers: 1000, Rate: 1e6, Patience: time.Second, Zipf: 1},
				{Kind: ranking.Find, Workers: 5, Rate: 20_000, Patience: 2 * time.Second, Count: 8, Zipf: 0.9},
				{Kind: ranking.FindByOrder, Workers: 16, Rate: 1, Patience: time.Second, Count: 7},
			}},
			{Name: "phase-2", Duration: 500 * time.Millisecond, Ops: []scenario.Load{{Kind: ranking.Get, Workers: 50}}},
		},
		Limits: []result.RunLimit{
			{Op: "set", Metric: "p50", Want: 0.001}, {Op: "set", Metric: "p90", Want: 0.002},
			{Op: "set", Metric: "p99", Want: 0.003}, {Op: "set", Metric: "p999", Want: 0.004},
			{Op: "get", Metric: "max", Want: 1}, {Op: "get", Metric: "outage", Want: 0},
			{Op: "get", Metric: "errors", Want: 0}, {Op: "get", Metric: "unsent", Want: 1},
			{Op: "get", Metric: "rps", Want: 1000}, {Metric: "client_bottleneck"},
		},
		Source: got.Source,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAllErrorsOfAFileAreToldAtOnce(t *testing.T) {
	_, err := scenario.Parse("x.yaml", []byte(`
name: a b
seed: -1
ranking:
  key: "{}"
  members: 0
  member_format: "%s"
  order: descending
topology: { shards: 91, replicas: 6, cluster_mode: disabled }
outage_threshold: 5ms
error_pause: 2m
phases:
  - name: a
    duration: 0s
    warmup: -1s
    ops:
      set: { workers: many }
      get: { workers: 0, patience: 1s }
      find: { rate: 0, members: 10_001, zipf: 11 }
  - name: a
    duration: 30
    ops: {}
limits:
  find_by_order: { p99: 0s }
  set: { rps: -1 }
  client_bottleneck: allow
  lost_writes: 5
drill:
  settle: 0s
  repeat: 0
  steps:
    - after: recovered
      test_failover: { node_group: one }
    - { at: 2m, wait: { for: 1s } }
    - { at: 1s, delay: 1s, increase_replicas: { count: 6 } }
    - { after: started, decrease_replicas: { count: 1, nodes: [a, a] } }
    - { at: 1h, kill: { role: boss }, hang: { role: primary } }
    - { at: 1h, after: recovered, reboot: {} }
`[1:]), scenario.Overrides{Set: []string{"phases.7.duration=1s", "audit=false"}})
	want := `x.yaml:1: name: "a b" is not a name: use up to 100 letters, digits, dots, dashes and underscores
x.yaml:2: seed: -1 is out of range, 0 … 18446744073709551615
x.yaml:4: ranking.key: "{}" has an empty hash tag {}
x.yaml:5: ranking.members: 0 is not in 1 … 4294967295
x.yaml:6: ranking.member_format: "%s" has a verb other than %d or %0Nd; use one %d, such as "player:%09d"
x.yaml:7: ranking.order: "descending" is not one of: ascending, random
x.yaml:8: topology.shards: 91 is not in 1 … 90
x.yaml:8: topology.replicas: 6 is not in 0 … 5
x.yaml:8: topology.cluster_mode: disabled leaves one shard, not 91
x.yaml:9: outage_threshold: 5ms is not in 10ms … 1h0m0s
x.yaml:10: error_pause: 2m0s is not in 0s … 1m0s
x.yaml:13: phases.0.duration: must be above 0 and at most 720h0m0s, not 0s
x.yaml:14: phases.0.warmup: -1s is not in 0s … 720h0m0s
x.yaml:16: phases.0.ops.set.workers: "many" is not a whole number
x.yaml:17: phases.0.ops.get.patience: needs a rate: without one nothing is ever due, so nothing is late
x.yaml:17: phases.0.ops.get.workers: 0 is not in 1 … 100000
x.yaml:18: phases.0.ops.find.zipf: exponent 11 is not in 0 … 10
x.yaml:18: phases.0.ops.find.rate: must be above 0 and at most 10000000, not 0
x.yaml:18: phases.0.ops.find.members: 10001 is not in 1 … 10000
x.yaml:19: phases.1.name: "a" is the name of phases.0 as well
x.yaml:20: phases.1.duration: 30 has no unit; write one, such as 500ms, 30s, 12m or 1h
x.yaml:21: phases.1.ops: has no operation; write get: {} for one with its defaults
x.yaml:23: limits.find_by_order: no phase sends this operation
x.yaml:23: limits.find_by_order.p99: must be above 0 and at most 720h0m0s, not 0s
x.yaml:24: limits.set.rps: must be above 0 and at most 10000000, not -1
x.yaml:25: limits.client_bottleneck: "allow" is not one of: forbid
x.yaml:26: limits.lost_writes: needs audit: true
x.yaml:28: drill.settle: must be above 0 and at most 720h0m0s, not 0s
x.yaml:29: drill.repeat: 0 is not in 1 … 100
x.yaml:31: drill.steps.0.after: the first step has none before it; give it an at
x.yaml:32: drill.steps.0.test_failover.node_group: "one" is not the id of a node group, such as "0001"
x.yaml:34: drill.steps.2.at: 1s is before the step above, which is at 2m0s
x.yaml:34: drill.steps.2.increase_replicas.count: 6 is not in 1 … 5
x.yaml:35: drill.steps.3.after: "started" is not one of: recovered
x.yaml:35: drill.steps.3.decrease_replicas: needs count (how many replicas there shall be afterwards) or nodes, and not both
x.yaml:35: drill.steps.3.decrease_replicas.nodes: names "a" twice, or no node at all
x.yaml:36: drill.steps.4: has 2 actions; each step has exactly one of: test_failover, increase_replicas, decrease_replicas, add_shards, remove_shards, reboot, wait, kill, hang, resume
x.yaml:37: drill.steps.5: needs at (an offset such as 2m) or after: recovered, and not both
x.yaml:37: drill.steps.5.reboot: needs role (primary or replica) or node, and not both
--set phases.7.duration: phases: has no item 7: it has 2, counted from 0`
	got := strings.Split(fmt.Sprint(err), "\n")
	for i, line := range strings.Split(want, "\n") {
		if i >= len(got) || !sameLine(got, line) {
			t.Errorf("missing: %s", line)
		}
	}
	if len(got) != strings.Count(want, "\n")+1 {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func sameLine(lines []string, want string) bool {
	for _, l := range lines {
		if l == want {
			return true
		}
	}
	return false
}

func TestImpossibleScenariosAreRefused(t *testing.T) {
	for set, want := range map[string]string{
		"name=":                                    "--set name: is missing",
		"name=../x":                                `--set name: "../x" is not a name: use up to 100 letters, digits, dots, dashes and underscores`,
		"ranking.members=":                         "--set ranking.members: is missing",
		"ranking.members=4294967296":               "--set ranking.members: 4294967296 is not in 1 … 4294967295",
		"ranking.score_spread=10_000_001":          "--set ranking.score_spread: 10000001 is above ranking.members, which is 10000000: there are not enough members for so many scores",
		"phases=[]":                                "--set phases: has no phase; at least one is needed",
		"phases=":                                  "--set phases: is missing",
		"phases.0=":                                "--set phases.0: is empty",
		"phases.0.name=''":                         `--set phases.0.name: "" is not a name: use up to 100 letters, digits, dots, dashes and underscores`,
		"phases.0.duration=721h":                   "--set phases.0.duration: must be above 0 and at most 720h0m0s, not 721h0m0s",
		"phases.0.ops.get=":                        "x.yaml:5: phases.0.ops: has no operation; write get: {} for one with its defaults",
		"phases.0.ops.get.rate=10_000_001":         "--set phases.0.ops.get.rate: must be above 0 and at most 10000000, not 10000001",
		"phases.0.ops.get.workers=100_001":         "--set phases.0.ops.get.workers: 100001 is not in 1 … 100000",
		"phases.0.ops.get.members=5":               "--set phases.0.ops.get.members: is not a known key; known here: workers, rate, patience, zipf",
		"phases.0.ops.find_by_order.zipf=1":        "--set phases.0.ops.find_by_order.zipf: is not a known key; known here: workers, rate, patience, rows",
		"phases.0.ops.find-by-order={}":            "--set phases.0.ops.find-by-order: is not a known key; did you mean find_by_order?",
		"topology.shards=1":                        "--set topology.replicas: is missing",
		"topology={replicas: 1, cluster_mode: on}": `--set topology.cluster_mode: "on" is not one of: enabled, disabled`,
		"drill={steps: [{at: 1s, expect: refused, wait: {for: 1s}}]}": "--set drill.steps.0.expect: wait asks ElastiCache for nothing, which could be refused",
		"drill={steps: [{at: 1s, expect: done, test_failover: {}}]}":  `--set drill.steps.0.expect: "done" is not one of: refused`,
	} {
		t.Run(set, func(t *testing.T) {
			_, err := scenario.Parse("x.yaml", []byte(least), scenario.Overrides{Set: []string{set}})
			if first, _, _ := strings.Cut(fmt.Sprint(err), "\n"); first != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestCountsFitTheRanking(t *testing.T) {
	const text = "name: x\nranking: {members: 20}\nphases: [{duration: 1s, ops: {find: {}, find_by_order: {}}}]"
	s := parse(t, text)
	if s.Ranking.ScoreSpread != 20 || s.Phases[0].Ops[0].Count != 20 || s.Phases[0].Ops[1].Count != 20 {
		t.Errorf("defaults are above the number of members: %+v", s)
	}
	_, err := scenario.Parse("x.yaml", []byte(text), scenario.Overrides{Set: []string{"phases.0.ops.find.members=21", "phases.0.ops.find_by_order.rows=21"}})
	want := `--set phases.0.ops.find.members: 21 is above ranking.members, which is 20
--set phases.0.ops.find_by_order.rows: 21 is above ranking.members, which is 20`
	if fmt.Sprint(err) != want {
		t.Errorf("got %v", err)
	}
}

func TestWorkersForARateFollowIt(t *testing.T) {
	for rate, want := range map[string]int{"1": 16, "1_600": 16, "1_601": 17, "20_000": 200, "100_000": 1000, "1e7": 1000} {
		s := parse(t, least, "phases.0.ops.get.rate="+rate)
		if got := s.Phases[0].Ops[0].Workers; got != want {
			t.Errorf("rate %s: %d workers, want %d", rate, got, want)
		}
	}
}

func TestDurationOverridesThatOfEachPhase(t *testing.T) {
	const text = "name: x\nranking: {members: 20}\nphases: [{duration: 1s, ops: {get: {}}}, {duration: 2s, warmup: 1s, ops: {get: {}}}]"
	s, err := scenario.Parse("x.yaml", []byte(text), scenario.Overrides{Duration: 1500 * time.Millisecond, Set: []string{"phases.1.duration=9s"}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Phases[0].Duration != 1500*time.Millisecond || s.Phases[1].Duration != 9*time.Second || s.Phases[1].Warmup != time.Second {
		t.Errorf("got %+v", s.Phases)
	}
	if !strings.Contains(s.Source, "duration: 1.5s") {
		t.Errorf("the source does not tell:\n%s", s.Source)
	}
	if _, err := scenario.Parse("x.yaml", []byte(text), scenario.Overrides{Duration: -1}); err == nil {
		t.Error("a negative duration is taken")
	}
}

func TestTheScenariosOfTheRepositoryAreValid(t *testing.T) {
	files, _ := filepath.Glob("../../scenarios/*.yaml")
	if len(files) < 13 {
		t.Fatalf("only %d files", len(files))
	}
	for _, path := range files {
		s, err := scenario.Read(path, scenario.Overrides{})
		if err != nil {
			t.Error(err)
			continue
		}
		if want := strings.TrimSuffix(filepath.Base(path), ".yaml"); s.Name != want || s.About == "" {
			t.Errorf("%s is named %q, about %q", path, s.Name, s.About)
		}
	}
}

func TestAMissingFileIsToldByPath(t *testing.T) {
	_, err := scenario.Read("none.yaml", scenario.Overrides{})
	if fmt.Sprint(err) != "read none.yaml: no such file or directory" {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("../../scenarios/*.yaml")
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), "phases.0.duration=30s", int64(0))
	}
	f.Add(least, "limits.get.p99=3ms", int64(time.Second))
	f.Fuzz(func(t *testing.T, text, set string, duration int64) {
		first, err := scenario.Parse("x.yaml", []byte(text), scenario.Overrides{Set: []string{set}, Duration: time.Duration(duration)})
		if err != nil {
			return
		}
		second, err := scenario.Parse("x.yaml", []byte(first.Source), scenario.Overrides{})
		if err != nil || !reflect.DeepEqual(first, second) {
			t.Fatalf("%v\n%+v\n%+v", err, first, second)
		}
	})
}
