package run_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/run"
	"github.com/rankbench/rankbench/internal/scenario"
)

const countsScenario = `
name: counts
ranking: { key: counts, members: 10_000, score_spread: 1_000 }
topology: { shards: 1, replicas: 2 }
phases:
  - name: closed
    warmup: 500ms
    duration: 2s
    ops:
      set: { workers: 3 }
      get: { workers: 3 }
      find: { workers: 2, members: 10 }
      find_by_order: { workers: 2, rows: 20 }
  - name: rates
    duration: 1500ms
    ops: # patience: on a slow machine late, but sent
      set: { rate: 200, patience: 1m }
      get: { rate: 300, patience: 1m }
      find: { rate: 100, members: 7, patience: 1m }
      find_by_order: { rate: 50, rows: 5, patience: 1m }
`

// TestCountsAreTrue: what the summary says was sent is what the servers say
// they did, asked by somebody else, before and after: operation by operation,
// node by node.
func TestCountsAreTrue(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Replicas: 2})
	sc := parse(t, countsScenario)
	o := options(t, sc, c)
	fill(t, o)
	before := commandstats(t, c)
	s, folder, err := run.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	did := commandstats(t, c).minus(before)

	if s.Interrupted || !s.Complete || len(s.Phases) != 2 || hasOutage(sc, s) {
		t.Errorf("interrupted %t, complete %t, %d phases, outages %+v", s.Interrupted, s.Complete, len(s.Phases), s.Outages)
	}
	expectAccounted(t, s)
	expectNoWarnings(t, s.Warnings)
	expectNoErrors(t, s)
	expectTotals(t, sc, s, did, c.Addrs()[0])
	expectNodes(t, s, did)
	expectDriver(t, s)
	for op, due := range map[string]uint64{"set": 300, "get": 450, "find": 150, "find_by_order": 75} { // rate x 1.5 s
		if got := s.Phases[1].Ops[op].Due; got != due {
			t.Errorf("%s: %d came due by its rate, want exactly %d", op, got, due)
		}
	}
	expectSameFromFolder(t, folder, s)
}

// hasOutage leaves out what fell into pauses of rankbench itself, as limits do: on
// a crowded machine the whole process does not run now and then.
func hasOutage(sc *scenario.Scenario, s result.Summary) bool {
	return slices.ContainsFunc(s.Outages, func(o result.Outage) bool {
		return o.DurationS-o.PausedS > sc.OutageThreshold.Seconds()
	})
}

func expectNoErrors(t *testing.T, s result.Summary) {
	t.Helper()
	for _, p := range s.Phases {
		for op, o := range p.Ops {
			if o.OK != o.Due || o.RPS <= 0 || o.LatencyUS.Max <= 0 || o.LatencyUS.P50 > o.LatencyUS.Max {
				t.Errorf("%s %s: %+v", p.Name, op, o)
			}
		}
	}
}

// expectTotals: the sum of the phases and warm-ups, turned into commands, is
// what all nodes together did.
func expectTotals(t *testing.T, sc *scenario.Scenario, s result.Summary, did tally, primary string) {
	t.Helper()
	want := map[string]uint64{}
	for i, p := range s.Phases {
		for _, k := range ranking.Kinds() {
			ok := p.Ops[k.String()].OK + p.WarmupOps[k.String()].OK
			for name, n := range k.Commands(countOf(sc, i, k)) {
				want[name] += ok * uint64(n)
			}
		}
	}
	got := map[string]uint64{}
	for addr, names := range did {
		for name, n := range names {
			if name == "zadd" && addr != primary {
				continue // replicated
			}
			got[name] += n
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the servers did %v, the operations are worth %v", got, want)
	}
	if len(s.Phases[0].WarmupOps) != 4 {
		t.Errorf("warm-up of %v", s.Phases[0].WarmupOps)
	}
}

// expectNodes: the figures of each node, over the run and over its phases.
func expectNodes(t *testing.T, s result.Summary, did tally) {
	t.Helper()
	if len(s.Nodes) != 3 {
		t.Fatalf("%d nodes", len(s.Nodes))
	}
	for i, n := range s.Nodes {
		primary := i == 0 // by the order of their names
		if len(n.Roles) != 1 || (n.Roles[0].Role == "primary") != primary {
			t.Errorf("%s has the roles %+v", n.ID, n.Roles)
		}
		for _, name := range rankingCommands {
			inPhases := uint64(0)
			for _, p := range s.Phases {
				inPhases += p.Nodes[i].Commands[name]
			}
			want := did[n.Addr][name]
			if name == "zadd" && !primary {
				// The last sample is taken when the last answer has come, which may
				// be before a replica has the write.
				if r := n.Replicated[name]; r == 0 || r > want {
					t.Errorf("%s: %d replicated writes, it says %d", n.ID, r, want)
				}
				want = 0
			}
			if n.Commands[name] != want || inPhases != want {
				t.Errorf("%s: %d %s, by phases %d; it says %d", n.ID, n.Commands[name], name, inPhases, want)
			}
		}
		if primary && did[n.Addr]["zscore"] > 0 {
			t.Errorf("%s, the primary, was read from", n.ID)
		}
	}
}

// expectDriver: what the driver sent to a node is what the node counted.
func expectDriver(t *testing.T, s result.Summary) {
	t.Helper()
	sum := uint64(0)
	for _, n := range s.Nodes {
		counted := uint64(0)
		for _, name := range rankingCommands {
			counted += n.Commands[name]
		}
		sum += counted
		if n.Driver == nil || n.Driver.Attempts != counted || n.Driver.Errors != 0 {
			t.Errorf("%s: driver %+v, want %d attempts", n.ID, n.Driver, counted)
		}
	}
	if s.Client.Commands != sum {
		t.Errorf("the client sent %d commands, the nodes counted %d", s.Client.Commands, sum)
	}
}

// expectSameFromFolder: the folder alone gives the same summary, and holds it.
func expectSameFromFolder(t *testing.T, folder string, s result.Summary) {
	t.Helper()
	again, err := report.Summarize(folder)
	if err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("made again it is another (%v)", err)
	}
	data, err := os.ReadFile(filepath.Join(folder, result.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	var written, want any
	if err := json.Unmarshal(data, &written); err != nil {
		t.Fatal(err)
	}
	data, _ = json.Marshal(s)
	_ = json.Unmarshal(data, &want)
	if !reflect.DeepEqual(written, want) {
		t.Error("summary.json is another")
	}
}
