package state_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/state"
)

// roleEnv makes this test binary the process that Launch starts.
const roleEnv = "RANKBENCH_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		playRole(role)
		return
	}
	goleak.VerifyTestMain(m)
}

func playRole(role string) {
	starter := state.StartedBy()
	switch role {
	case "ready":
		// Holds all it has inherited beyond our end, as a redis-server would.
		heir := exec.Command("sleep", "60")
		_ = heir.Start()
		fmt.Println("said on stdout")
		_ = starter.Tell(nil)
		_ = os.WriteFile("heir", fmt.Append(nil, heir.Process.Pid), 0o600)
	case "failed":
		_ = starter.Tell(errors.New("no luck today"))
	case "silent":
	}
}

func sample(t *testing.T) state.State {
	t.Helper()
	self, err := cluster.Self()
	if err != nil {
		t.Fatal(err)
	}
	return state.State{
		Version: 2, Group: "lb", Owner: self, Server: "/usr/bin/redis-server", ServerVersion: "7.0.15",
		Dirs: []string{filepath.Join(t.TempDir(), "cluster-1")}, Started: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC),
		Nodes: []state.Node{
			{Group: "lb", ID: "lb-0001-001", Shard: "0001", Addr: "127.0.0.1:7001", PID: 11},
			{Group: "lb", ID: "lb-0001-002", Shard: "0001", Addr: "127.0.0.1:7002", PID: 12},
		},
	}
}

func TestStateComesBackAsItWasWritten(t *testing.T) {
	dir, want := t.TempDir(), sample(t)
	for range 2 { // the owner may write again
		if err := state.Write(dir, want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := state.Read(dir)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v (%v), want %+v", got, err, want)
	}
	if addrs := strings.Join(got.Addrs(), ","); addrs != "127.0.0.1:7001,127.0.0.1:7002" {
		t.Errorf("addresses %s", addrs)
	}
}

func TestStateIsForThisUserOnly(t *testing.T) {
	dir := t.TempDir()
	if err := state.Write(dir, sample(t)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{".rankbench": 0o700 | os.ModeDir, ".rankbench/local.json": 0o600} {
		info, err := os.Stat(filepath.Join(dir, path))
		if err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v (%v), want %v", path, info.Mode(), err, want)
		}
	}
}

func TestReadTellsNoneFromStaleFromBroken(t *testing.T) {
	dir := t.TempDir()
	if _, err := state.Read(dir); !errors.Is(err, state.ErrNone) {
		t.Errorf("nothing there: %v, want ErrNone", err)
	}
	killed := sample(t)
	killed.Owner.Start = 1
	if err := state.Write(dir, killed); err != nil {
		t.Fatal(err)
	}
	if s, err := state.Read(dir); !errors.Is(err, state.ErrStale) || len(s.Nodes) != 2 {
		t.Errorf("dead owner: %v and %d nodes, want ErrStale and 2", err, len(s.Nodes))
	}
	for name, text := range map[string]string{"no JSON": "{", "newer version": `{"version": 3}`} {
		if err := os.WriteFile(filepath.Join(dir, ".rankbench", "local.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := state.Read(dir); err == nil || errors.Is(err, state.ErrStale) || errors.Is(err, state.ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWriteDoesNotReplaceALiveOwnersState(t *testing.T) {
	dir, mine := t.TempDir(), sample(t)
	if err := state.Write(dir, mine); err != nil {
		t.Fatal(err)
	}
	other := mine
	other.Owner.PID++
	if err := state.Write(dir, other); !errors.Is(err, state.ErrUp) {
		t.Errorf("error %v, want ErrUp", err)
	}
	if got, err := state.Read(dir); err != nil || got.Owner != mine.Owner {
		t.Errorf("now it is %+v's (%v)", got.Owner, err)
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, ".rankbench")); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestRemoveLeavesNothingAndMayBeRepeated(t *testing.T) {
	dir := t.TempDir()
	if err := state.Write(dir, sample(t)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := state.Remove(dir); err != nil {
			t.Fatal(err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestEndStopsTheOwner(t *testing.T) {
	dir, s := t.TempDir(), sample(t)
	s.Owner = sleeper(t)
	if err := state.Write(dir, s); err != nil {
		t.Fatal(err)
	}
	if err := state.End(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if s.Owner.Alive() {
		t.Error("the owner lives")
	}
	if _, err := state.Read(dir); !errors.Is(err, state.ErrNone) {
		t.Errorf("the state is still there: %v", err)
	}
	if err := state.End(t.Context(), dir); !errors.Is(err, state.ErrNone) {
		t.Errorf("end again: %v, want ErrNone", err)
	}
}

func TestCleanRemovesWhatADeadOwnerLeftAndNothingElse(t *testing.T) {
	dir, s := t.TempDir(), sample(t)
	if err := state.Write(dir, s); err != nil {
		t.Fatal(err)
	}
	if err := state.Clean(dir); !errors.Is(err, state.ErrUp) {
		t.Errorf("live owner: %v, want ErrUp", err)
	}
	s.Owner.Start = 1
	if err := state.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := state.Write(dir, s); err != nil {
		t.Fatal(err)
	}
	if err := state.End(t.Context(), dir); !errors.Is(err, state.ErrStale) {
		t.Errorf("end of a dead owner: %v, want ErrStale", err)
	}
	for range 2 {
		if err := state.Clean(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := state.Read(dir); !errors.Is(err, state.ErrNone) {
		t.Errorf("the state is still there: %v", err)
	}
}

func TestLaunchReturnsWhenTheBackgroundProcessIsReady(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(roleEnv, "ready")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := state.Launch(ctx, dir, nil); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Error("it returned long after")
	}
	log, err := os.ReadFile(state.LogPath(dir))
	if err != nil || string(log) != "said on stdout\n" {
		t.Errorf("log %q (%v)", log, err)
	}
	endHeir(t, dir)
}

func TestLaunchTellsWhyTheBackgroundProcessFailed(t *testing.T) {
	for role, want := range map[string]string{"failed": "no luck today", "silent": "ended before it was ready (exit status 0); its log is "} {
		t.Run(role, func(t *testing.T) {
			t.Setenv(roleEnv, role)
			dir := t.TempDir()
			if role == "silent" {
				want += state.LogPath(dir)
			}
			if err := state.Launch(t.Context(), dir, nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q in it", err, want)
			}
		})
	}
}

// endHeir ends the process that the background process has left on purpose.
func endHeir(t *testing.T, dir string) {
	t.Helper()
	var pid int
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(10 * time.Second); pid == 0; {
		data, _ := os.ReadFile(filepath.Join(dir, "heir"))
		_, _ = fmt.Sscan(string(data), &pid)
		select {
		case <-deadline:
			t.Fatal("it has not said which")
		case <-tick.C:
		}
	}
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

// sleeper runs a process that ends on SIGTERM.
func sleeper(t *testing.T) cluster.Process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	p, err := cluster.Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
