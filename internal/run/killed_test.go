package run_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/run"
	"github.com/rankbench/rankbench/internal/scenario"
)

const killedScenario = `
name: killed
ranking: { key: killed, members: 1_000 }
phases:
  - duration: 10m
    ops: { set: { workers: 2 }, get: { rate: 50 } }
`

// loadToBeKilled is rankbench load --local, without its command line.
func loadToBeKilled(out string) {
	c, err := cluster.Start(context.Background(), cluster.Options{Replicas: 1})
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(c.Nodes()))
	sc, err := scenario.Parse("killed.yaml", []byte(killedScenario), scenario.Overrides{})
	check(err)
	_, _, err = run.Load(context.Background(), run.Options{
		Scenario: sc, Config: config.ForAddresses(c.Addrs()), Out: out, Interval: time.Second, Populate: true,
		Lines: os.Stdout, Notes: silent{},
	})
	check(fmt.Errorf("not killed: %w", err))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type silent struct{}

func (silent) Note(string, ...any)   {}
func (silent) Progress(int64, int64) {}

// lostAtMost is how much of a killed run may be missing. An interval is cut
// every second, so that one second is lost at most; the other is for a cut that
// came late on a busy machine, and for the time between our look at the clock
// and the process's death.
const lostAtMost = 2 * time.Second

func TestKillNineOfRankbenchLosesAtMostTheLastSecond(t *testing.T) {
	clustertest.Require(t)
	out := filepath.Join(t.TempDir(), "run")
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+out, "TMPDIR="+t.TempDir())
	cmd.Stderr = testLog{t}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	nodes := readNodes(t, lines)
	awaitLines(t, lines, 3)
	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, lines)
	_ = cmd.Wait() // says that it was killed

	s, err := report.Summarize(out)
	if err != nil {
		t.Fatal(err)
	}
	expectKilled(t, out, s, killed.Sub(s.Started))
	for _, n := range nodes {
		awaitEnd(t, n)
	}
}

func readNodes(t *testing.T, r *bufio.Reader) (nodes []cluster.Node) {
	t.Helper()
	line, err := r.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(line, &nodes); err != nil || len(nodes) != 2 {
		t.Fatalf("nodes %s: %v", line, err)
	}
	return nodes
}

// awaitLines reads until set has had so many lines.
func awaitLines(t *testing.T, r *bufio.Reader, n int) {
	t.Helper()
	for n > 0 {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		t.Log(strings.TrimSpace(line))
		if strings.Contains(line, " set ") {
			n--
		}
	}
}

func expectKilled(t *testing.T, out string, s result.Summary, killedAt time.Duration) {
	t.Helper()
	if s.Complete || s.Interrupted {
		t.Errorf("complete %t, interrupted %t: it was killed", s.Complete, s.Interrupted)
	}
	if lost := killedAt.Seconds() - s.DurationS; lost > lostAtMost.Seconds() {
		t.Errorf("killed after %.2f s, its intervals reach to %.2f s", killedAt.Seconds(), s.DurationS)
	}
	expectAccounted(t, s)
	if !strings.Contains(strings.Join(s.Warnings, "\n"), "did not come to its end") {
		t.Errorf("warnings %q do not say so", s.Warnings)
	}
	if _, err := os.Stat(filepath.Join(out, result.SummaryFile)); err == nil {
		t.Error("there is a summary.json already")
	}
	if err := report.WriteSummary(out, s); err != nil {
		t.Error(err)
	}
}

// awaitEnd: the kernel ends a redis-server with its parent.
func awaitEnd(t *testing.T, n cluster.Node) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(20 * time.Second); ; {
		conn, err := net.Dial("tcp", n.Addr)
		if err != nil {
			return
		}
		_ = conn.Close()
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s (pid %d) still serves", n.ID, n.PID)
		}
	}
}

// TestNothingIsWrittenWhereARunCannotBegin: what can be found out beforehand
// is, and the folder is free for the next try.
func TestNothingIsWrittenWhereARunCannotBegin(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{})
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, spoil := range map[string]func(*run.Options){
		"ranking not filled":        func(*run.Options) {},
		"address of metrics in use": func(o *run.Options) { o.Metrics, o.Populate = taken.Addr().String(), true },
		"wrong topology":            func(o *run.Options) { o.Scenario.Topology = &scenario.Topology{Shards: 2} },
		"target that is not there":  func(o *run.Options) { o.Config = config.ForAddresses([]string{"no..such.host:1"}) },
		"password not set":          func(o *run.Options) { o.Config.Target.PasswordEnv = "NO_SUCH_VARIABLE" },
		"file of authorities not there": func(o *run.Options) {
			o.Config.Target.TLS = &config.TLS{CAFile: "/no/such/file"}
		},
	} {
		o := options(t, parse(t, killedScenario), c)
		spoil(&o)
		s, folder, err := run.Load(t.Context(), o)
		if err == nil || folder != "" || len(s.Phases) > 0 || fail.HintOf(err) == "" || fail.CodeOf(err) != fail.CodeFailed {
			t.Errorf("%s: %v (hint %q, code %d), folder %q", name, err, fail.HintOf(err), fail.CodeOf(err), folder)
		}
		if _, err := os.Stat(o.Out); err == nil {
			t.Errorf("%s: there is a folder", name)
		}
		if d := commandstats(t, c)[c.Addrs()[0]]; d["zadd"] > 0 {
			t.Errorf("%s: %d ZADDs were sent", name, d["zadd"])
		}
	}
}
