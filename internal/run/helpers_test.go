package run_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/run"
	"github.com/rankbench/rankbench/internal/scenario"
)

// childEnv makes this test binary a rankbench that is to be killed; its value
// is the folder of the run.
const childEnv = "RANKBENCH_TEST_RUN"

func TestMain(m *testing.M) {
	if out := os.Getenv(childEnv); out != "" {
		loadToBeKilled(out)
		return
	}
	goleak.VerifyTestMain(m,
		// The driver's pool looks for a dead server once a second, and notices
		// only then that it was closed.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// parse reads a scenario from its text.
func parse(t testing.TB, text string, set ...string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse("test.yaml", []byte(text), scenario.Overrides{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// options are those of a run against a local cluster.
func options(t *testing.T, sc *scenario.Scenario, c *cluster.Cluster) run.Options {
	t.Helper()
	return run.Options{
		Scenario: sc, Config: config.ForAddresses(c.Addrs()), Local: true,
		NodeName: nameOf(c), Out: t.TempDir() + "/run", Interval: time.Second,
		Versions: map[string]string{"rankbench": "test"}, Lines: testLog{t}, Notes: notes{t},
	}
}

func nameOf(c *cluster.Cluster) func(string) string {
	names := map[string]string{}
	for _, n := range c.Nodes() {
		names[n.Addr] = n.ID
	}
	return func(addr string) string { return names[addr] }
}

// notes go to the test's log: run returns only when nothing writes any more.
type notes struct{ t *testing.T }

func (n notes) Note(format string, args ...any) { n.t.Logf("note: "+format, args...) }
func (n notes) Progress(int64, int64)           {}

type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Logf("%s", bytes.TrimSpace(p))
	return len(p), nil
}

// watcher hands every line of the screen to see.
type watcher struct {
	mu  sync.Mutex
	see func(line string)
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.Lines(string(p)) {
		w.see(strings.TrimSpace(line))
	}
	return len(p), nil
}

// tally is calls of the ranking's commands by node address and name.
type tally map[string]map[string]uint64

var rankingCommands = []string{"zadd", "zscore", "zcount", "zrevrange"}

// commandstats asks every node itself, over connections of our own.
func commandstats(t *testing.T, c *cluster.Cluster) tally {
	t.Helper()
	out := tally{}
	for _, addr := range c.Addrs() {
		rdb := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true})
		text, err := rdb.Info(t.Context(), "commandstats").Result()
		_ = rdb.Close()
		if err != nil {
			t.Fatal(err)
		}
		out[addr] = map[string]uint64{}
		for _, name := range rankingCommands {
			out[addr][name] = callsOf(t, text, name)
		}
	}
	return out
}

func callsOf(t *testing.T, text, name string) uint64 {
	t.Helper()
	_, rest, ok := strings.Cut(text, "cmdstat_"+name+":calls=")
	if !ok {
		return 0
	}
	digits, _, _ := strings.Cut(rest, ",")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (after tally) minus(before tally) tally {
	out := tally{}
	for addr, names := range after {
		out[addr] = map[string]uint64{}
		for name, n := range names {
			out[addr][name] = n - before[addr][name]
		}
	}
	return out
}

// expectAccounted: every operation that was due is there exactly once.
func expectAccounted(t *testing.T, s result.Summary) {
	t.Helper()
	for _, p := range s.Phases {
		for op, o := range p.Ops {
			sum := o.OK + o.Unsent
			for _, n := range o.Errors {
				sum += n
			}
			if o.Due != sum || o.Due == 0 {
				t.Errorf("%s %s: due %d, but ok + unsent + errors is %d", p.Name, op, o.Due, sum)
			}
		}
	}
	for _, w := range s.Warnings {
		if strings.Contains(w, "fault of rankbench") {
			t.Error(w)
		}
	}
}

// ownDoubts are parts of the warnings in which rankbench doubts itself and its
// host: true on a machine that runs many tests at once, and no fault.
var ownDoubts = []string{"share this host", "was the bottleneck", "rankbench itself did not run", "the schedule slipped"}

func expectNoWarnings(t *testing.T, warnings []string) {
	t.Helper()
	for _, w := range warnings {
		if !slices.ContainsFunc(ownDoubts, func(part string) bool { return strings.Contains(w, part) }) {
			t.Errorf("warning: %s", w)
		}
	}
}

// counts are those of one kind in the scenario, for ranking.Kind.Commands.
func countOf(sc *scenario.Scenario, phase int, k ranking.Kind) int {
	for _, l := range sc.Phases[phase].Ops {
		if l.Kind == k {
			return l.Count
		}
	}
	panic(fmt.Sprintf("phase %d does not send %v", phase, k))
}

// fill populates the scenario's ranking.
func fill(t *testing.T, o run.Options) {
	t.Helper()
	if _, err := run.Populate(context.WithoutCancel(t.Context()), o, false); err != nil {
		t.Fatal(err)
	}
}
