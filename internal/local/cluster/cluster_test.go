//go:build unix

package cluster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
)

// ownerEnv makes this test binary the owner of a cluster, to be killed.
const ownerEnv = "RANKBENCH_TEST_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(ownerEnv) != "" {
		ownACluster()
		return
	}
	goleak.VerifyTestMain(m)
}

// owned is what the owner process prints.
type owned struct {
	Dir   string
	Nodes []cluster.Node
}

func ownACluster() {
	c, err := cluster.Start(context.Background(), cluster.Options{Replicas: 1})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := c.AddReplica(context.Background(), c.NextID("0001")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(owned{c.Dir(), c.Nodes()})
	_, _ = io.Copy(io.Discard, os.Stdin) // until killed
}

func TestStartIsReadyWhenEveryReplicaLinkIsUp(t *testing.T) {
	for _, tc := range []struct {
		name string
		o    cluster.Options
	}{
		{"one node", cluster.Options{}},
		{"one shard with replicas", cluster.Options{Replicas: 2, FullCoverage: true}},
		{"three shards", cluster.Options{Shards: 3, Replicas: 2, Password: `p "q" \`}},
		{"standalone", cluster.Options{Standalone: true, Replicas: 2, Password: "secret"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := clustertest.Start(t, tc.o)
			for i, h := range cluster.Inspect(t.Context(), c.Addrs(), tc.o.Password) {
				n := c.Nodes()[i]
				want := cluster.Health{Up: true, Role: "replica", Link: "up", PID: n.PID, UsedMemory: h.UsedMemory}
				if n.Primary {
					want.Role, want.Link = "primary", ""
				}
				if h != want {
					t.Errorf("%s: %+v, want %+v", n.ID, h, want)
				}
			}
		})
	}
}

func TestEveryNodeListsTheWholeTopologyAtOnce(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Group: "prod", Shards: 3, Replicas: 1})
	want := [][]string{}
	nodes := c.Nodes()
	for i := 0; i < len(nodes); i += 2 {
		want = append(want, []string{nodes[i].Addr, nodes[i+1].Addr})
	}
	for _, n := range nodes {
		table, err := client(t, n.Addr).ClusterSlots(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(table, func(a, b redis.ClusterSlot) int { return a.Start - b.Start })
		next := 0
		for i, r := range table {
			if got := []string{r.Nodes[0].Addr, r.Nodes[1].Addr}; r.Start != next || !slices.Equal(got, want[i]) {
				t.Errorf("%s: range %d is %d-%d on %v, want it from %d on %v", n.ID, i, r.Start, r.End, got, next, want[i])
			}
			next = r.End + 1
		}
		if next != 16384 {
			t.Errorf("%s: slots up to %d are covered", n.ID, next-1)
		}
	}
}

func TestNodesAreNamedAsElastiCacheNamesThem(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Group: "prod", Shards: 2, Replicas: 1})
	var got []string
	for _, n := range c.Nodes() {
		got = append(got, fmt.Sprintf("%s %s %v", n.ID, n.Shard, n.Primary))
	}
	want := []string{"prod-0001-001 0001 true", "prod-0001-002 0001 false", "prod-0002-001 0002 true", "prod-0002-002 0002 false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNodesListenOnLoopbackOnly(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true})
	_, port, _ := net.SplitHostPort(c.Addrs()[0])
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		ip, _, err := net.ParseCIDR(a.String())
		if err != nil || ip.IsLoopback() {
			continue
		}
		d := net.Dialer{Timeout: time.Second}
		if conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(ip.String(), port)); err == nil {
			conn.Close()
			t.Errorf("a node listens on %v", ip)
		}
	}
}

func TestReplicaMigrationIsOff(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Replicas: 1})
	for _, addr := range c.Addrs() {
		conf, err := client(t, addr).ConfigGet(t.Context(), "cluster-*migration*").Result()
		if err != nil {
			t.Fatal(err)
		}
		if conf["cluster-migration-barrier"] != "1000000" {
			t.Errorf("cluster-migration-barrier is %q", conf["cluster-migration-barrier"])
		}
		if v, known := conf["cluster-allow-replica-migration"]; known && v != "no" {
			t.Errorf("cluster-allow-replica-migration is %q", v)
		}
	}
}

func TestStartManyAtOnce(t *testing.T) {
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			clustertest.Start(t, cluster.Options{Replicas: 1, Port: 12000})
		})
	}
}

func TestStopLeavesNothing(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 1})
	nodes := c.Nodes()
	if err := c.Signal(nodes[1].ID, syscall.SIGSTOP); err != nil {
		t.Fatal(err) // a hung node is no reason to leave it
	}
	for range 2 {
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		if _, err := cluster.Identify(n.PID); err == nil {
			t.Errorf("%s (pid %d) still runs", n.ID, n.PID)
		}
	}
	if _, err := os.Stat(c.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", c.Dir(), err)
	}
	if err := c.Restart(t.Context(), nodes[0].ID); !errors.Is(err, cluster.ErrStopped) {
		t.Errorf("restart after Stop: %v, want ErrStopped", err)
	}
}

func TestDeathOfANodeIsToldAndTheOthersLive(t *testing.T) {
	var log buffer
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 1, Log: &log})
	victim, other := c.Nodes()[1], c.Nodes()[0]
	if err := syscall.Kill(victim.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s (%s, pid %d) died: signal: killed", victim.ID, victim.Addr, victim.PID)
	eventually(t, func() error {
		if got := log.String(); !strings.Contains(got, want) || !strings.Contains(got, "MASTER <-> REPLICA sync") {
			return fmt.Errorf("log is %q, want %q and the node's last lines", got, want)
		}
		return nil
	})
	if err := client(t, other.Addr).Ping(t.Context()).Err(); err != nil {
		t.Errorf("%s: %v", other.ID, err)
	}
	if got := c.Nodes()[1].PID; got != 0 {
		t.Errorf("pid of a dead node is %d", got)
	}
}

func TestStopIsNotToldAsDeath(t *testing.T) {
	var log buffer
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 1, Log: &log})
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if log.String() != "" {
		t.Errorf("told %q", log.String())
	}
}

func TestNodesOutliveTheThreadsOfThisProcess(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 1})
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(runtime.LockOSThread) // a goroutine that ends locked takes its thread with it
	}
	wg.Wait()
	for i, h := range cluster.Inspect(t.Context(), c.Addrs(), "") {
		if !h.Up {
			t.Errorf("%s died with a thread", c.Nodes()[i].ID)
		}
	}
}

func TestRestartedPrimaryComesBackAsReplicaOnItsOwnAddress(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Shards: 3, Replicas: 1, NodeTimeout: time.Second})
	old, heir := c.Nodes()[0], c.Nodes()[1]
	if err := c.Kill(old.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return hasRole(t, heir.Addr, "primary", "") })
	if err := c.Restart(t.Context(), old.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return hasRole(t, old.Addr, "replica", "up") })
	if now := c.Nodes()[0]; now.PID == 0 || now.PID == old.PID || now.Addr != old.Addr {
		t.Errorf("restarted as %+v, was %+v", now, old)
	}
}

func TestRestartOfARunningNodeIsRefused(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true})
	if err := c.Restart(t.Context(), c.Nodes()[0].ID); err == nil {
		t.Error("no error")
	}
	if err := c.Kill("lb-0009-001"); err == nil || !strings.Contains(err.Error(), "no such node") {
		t.Errorf("kill of an unknown node: %v", err)
	}
}

func TestStandaloneIsNoCluster(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 1})
	ctx := t.Context()
	if err := client(t, c.Addrs()[0]).Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	replica := client(t, c.Addrs()[1])
	eventually(t, func() error { return replica.Get(ctx, "k").Err() })
	if err := replica.Set(ctx, "k", "w", 0).Err(); err == nil || !strings.HasPrefix(err.Error(), "READONLY") {
		t.Errorf("write to a replica: %v, want READONLY", err)
	}
	if err := replica.Do(ctx, "cluster", "info").Err(); err == nil {
		t.Error("cluster mode is on")
	}
}

func TestStartTellsWhyANodeFailed(t *testing.T) {
	c, err := cluster.Start(t.Context(), cluster.Options{Binary: fakeServer(t, "echo no luck today >&2; exit 7"), Replicas: 1})
	if err == nil {
		c.Stop()
		t.Fatal("no error")
	}
	for _, want := range []string{"lb-0001-001", "exit status 7", "no luck today"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestStartEndsWithItsContextAndLeavesNothing(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	binary := fakeServer(t, fmt.Sprintf("echo $$ > %s; exec sleep 1000", pidFile))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := cluster.Start(ctx, cluster.Options{Binary: binary})
	// Refused or, on a crowded machine, cut short by the deadline: in any case it says who did not answer.
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "dial tcp 127.0.0.1:") {
		t.Errorf("error %v, want the deadline and what was waited for", err)
	}
	var pid int
	data, err := os.ReadFile(pidFile)
	if _, scanErr := fmt.Sscan(string(data), &pid); err != nil || scanErr != nil {
		t.Fatal(err, scanErr)
	}
	if _, err := cluster.Identify(pid); err == nil {
		t.Errorf("process %d still runs", pid)
	}
}

func TestStartRefusesAFolderThatIsNotEmpty(t *testing.T) {
	clustertest.Require(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := cluster.Start(t.Context(), cluster.Options{Dir: dir}); err == nil {
		c.Stop()
		t.Fatal("no error")
	}
	if _, err := os.Stat(filepath.Join(dir, "precious")); err != nil {
		t.Error(err)
	}
}

func TestStartUsesAnEmptyFolder(t *testing.T) {
	dir := t.TempDir()
	if c := clustertest.Start(t, cluster.Options{Standalone: true, Dir: dir}); c.Dir() != dir {
		t.Errorf("runs in %s, not %s", c.Dir(), dir)
	}
}

func TestWithoutAServerTheErrorSaysHowToGetOne(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := cluster.Start(t.Context(), cluster.Options{})
	if !errors.Is(err, cluster.ErrNoServer) {
		t.Fatalf("error %v, want ErrNoServer", err)
	}
	for _, want := range []string{"apt", "dnf", "apk", "brew", "make redis"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func TestValidateNamesEveryWrongOption(t *testing.T) {
	err := cluster.Options{Group: "-x", Shards: -1, Replicas: -1, NodeTimeout: time.Millisecond, Port: 60000}.Validate()
	for _, want := range []string{"group", "shards", "replicas", "node timeout", "port"} {
		if err == nil || !strings.Contains(err.Error(), want+":") && !strings.Contains(err.Error(), want+" ") {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if err := (cluster.Options{}).Validate(); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}

func TestKillNineOfTheParentLeavesNothing(t *testing.T) {
	clustertest.Require(t)
	t.Setenv("TMPDIR", t.TempDir()) // a root of its own
	owner, o := startOwner(t)
	t.Cleanup(func() { _ = cluster.Reclaim(o.Dir) }) // where the test has failed
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait() // it says "signal: killed"
	if runtime.GOOS == "linux" {
		eventually(t, func() error { return allGone(o.Nodes) })
	}
	if _, err := os.Stat(o.Dir); err != nil {
		t.Fatalf("there is nothing to sweep: %v", err)
	}
	clustertest.Start(t, cluster.Options{Standalone: true})
	if _, err := os.Stat(o.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", o.Dir, err)
	}
	if err := allGone(o.Nodes); err != nil {
		t.Error(err)
	}
}

func TestSweepSparesLiveOwners(t *testing.T) {
	clustertest.Require(t)
	t.Setenv("TMPDIR", t.TempDir())
	_, o := startOwner(t)
	if err := cluster.Sweep(filepath.Dir(o.Dir)); err != nil {
		t.Fatal(err)
	}
	for _, n := range o.Nodes {
		if err := client(t, n.Addr).Ping(t.Context()).Err(); err != nil {
			t.Errorf("%s: %v", n.ID, err)
		}
	}
	if err := cluster.Reclaim(o.Dir); !errors.Is(err, cluster.ErrOwned) {
		t.Errorf("reclaim of a live owner's folder: %v, want ErrOwned", err)
	}
}

// startOwner runs another process that owns a cluster, and returns when it is up.
func startOwner(t *testing.T) (*exec.Cmd, owned) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), ownerEnv+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe() // which it waits on
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // a second Wait only says so
	})
	var o owned
	if err := json.NewDecoder(stdout).Decode(&o); err != nil {
		t.Fatal(err)
	}
	return cmd, o
}

// fakeServer makes a program that has a version and then does what script says.
func fakeServer(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fake-server")
	body := "#!/bin/sh\n[ \"$1\" = --version ] && { echo 'Redis server v=7.0.15 sha=0'; exit; }\n" + script + "\n"
	if err := os.WriteFile(path, []byte(body), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func allGone(nodes []cluster.Node) error {
	for _, n := range nodes {
		if _, err := cluster.Identify(n.PID); err == nil {
			return fmt.Errorf("%s (pid %d) still runs", n.ID, n.PID)
		}
	}
	return nil
}

func hasRole(t *testing.T, addr, role, link string) error {
	if h := cluster.Inspect(t.Context(), []string{addr}, "")[0]; h.Role != role || h.Link != link {
		return fmt.Errorf("%s is %+v, want role %q, link %q", addr, h, role, link)
	}
	return nil
}

func client(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// eventually looks until check is content, for at most 30 s.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatal(err)
		case <-tick.C:
		}
	}
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
