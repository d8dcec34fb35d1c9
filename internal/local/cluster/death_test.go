//go:build unix

package cluster_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
)

func TestOnDeathIsCalledOnceForADeathThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	var log buffer
	died := make(chan string, 10)
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 2, Log: &log, OnDeath: func(id string) { died <- id }})
	ctx := t.Context()
	if err := c.Kill("lb-002"); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func() error{
		func() error { return c.Replace(ctx, "lb-002") },
		func() error { return c.Replace(ctx, "lb-002") },
		func() error { return c.Reboot(ctx, "lb-002") },
		func() error { return c.Remove(ctx, "lb-002", 0, 0) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "died"); n != 0 {
		t.Errorf("%d deaths are told in %q", n, log.String())
	}
	if err := syscall.Kill(nodeCalled(t, c, "lb-003").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if id := <-died; id != "lb-003" {
		t.Errorf("told of %s", id)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if len(died) > 0 {
		t.Errorf("told of %s too", <-died)
	}
}

func TestStopDoesNotWaitForeverForOnDeath(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	called := make(chan struct{})
	c := clustertest.Start(t, cluster.Options{Standalone: true, OnDeath: func(string) { close(called); <-release }})
	defer close(release)
	if err := syscall.Kill(c.Nodes()[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-called
	if took := timed(t, "stop", c.Stop); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestStopBreaksOffWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{Replicas: 1})
	done := make(chan error)
	go func() { done <- c.Remove(t.Context(), "lb-0001-002", time.Hour, time.Hour) }()
	eventually(t, func() error {
		if s := shardOf(t, c, "0001"); len(s.Replicas) > 0 {
			return errors.New("it is not being removed yet")
		}
		return nil
	})
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil && !errors.Is(err, cluster.ErrStopped) {
		t.Errorf("error %v, want none or ErrStopped", err)
	}
	if err := c.AddReplica(t.Context(), "lb-0001-002"); !errors.Is(err, cluster.ErrStopped) {
		t.Errorf("and then: %v, want ErrStopped", err)
	}
	if _, err := c.Topology(t.Context()); !errors.Is(err, cluster.ErrStopped) {
		t.Errorf("topology: %v, want ErrStopped", err)
	}
	if _, err := os.Stat(c.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", c.Dir(), err)
	}
}

func TestOwnerFileListsExactlyTheProcessesThatRun(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 1})
	ctx := t.Context()
	wantOwned(t, c)
	for _, change := range []func() error{
		func() error { return c.AddReplica(ctx, "lb-003") },
		func() error { return c.Kill("lb-002") },
		func() error { return c.Replace(ctx, "lb-002") },
		func() error { return c.Reboot(ctx, "lb-002") },
		func() error { return c.Remove(ctx, "lb-003", 0, 0) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		wantOwned(t, c)
	}
	if entries, err := os.ReadDir(c.Dir()); err != nil || len(entries) != 3 {
		t.Errorf("there are %v (%v), want two nodes' folders and the owner file", entries, err)
	}
}

func wantOwned(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.Dir(), "owner.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Nodes []struct{ PID int } }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	var got, want []int
	for _, n := range file.Nodes {
		got = append(got, n.PID)
	}
	for _, n := range c.Nodes() {
		if n.PID != 0 {
			want = append(want, n.PID)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the owner file lists %v, there run %v", got, want)
	}
}

func TestReplaceWantsAPrimaryToCopy(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{Replicas: 1})
	ctx := t.Context()
	if err := c.Kill("lb-0001-001"); err != nil {
		t.Fatal(err)
	}
	if err := c.Replace(ctx, "lb-0001-001"); err == nil || !strings.Contains(err.Error(), "primary") {
		t.Errorf("error %v", err)
	}
	if err := c.AddReplica(ctx, "lb-0001-007"); err == nil {
		t.Error("a node can be added under any name")
	}
	for i := range 2 { // a dead one, and one that runs
		if err := errors.Join(c.Promote(ctx, "lb-0001-002"), c.Replace(ctx, "lb-0001-001")); err != nil {
			t.Errorf("time %d: %v", i, err)
		}
	}
	if err := c.Promote(ctx, "lb-0001-001"); err != nil {
		t.Error(fmt.Errorf("and back: %w", err))
	}
	wantTopology(t, c, "0001 lb-0001-001 [lb-0001-002] [0-16383]")
}
