//go:build unix

package cluster_test

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
)

func TestNodeThatDoesNotComeBackIsDeadAgain(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 1})
	const primary, replica = "lb-001", "lb-002"
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Kill(replica); err != nil {
		t.Fatal(err)
	}
	wantDead(t, c, replica, c.Restart(ended, replica))
	if err := c.Restart(t.Context(), replica); err != nil {
		t.Fatal(err)
	}
	if err := c.Signal(primary, syscall.SIGSTOP); err != nil { // so that the link stays down
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	wantDead(t, c, replica, c.Reboot(short, replica))
	if err := c.Signal(primary, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := c.Reboot(t.Context(), replica); err != nil {
		t.Error(err)
	}
}

// wantDead wants a node that failed to come back to have no process.
func wantDead(t *testing.T, c *cluster.Cluster, id string, err error) {
	t.Helper()
	if err == nil {
		t.Error("no error")
	}
	if n := nodeCalled(t, c, id); n.PID != 0 {
		t.Errorf("%s runs on as %d", id, n.PID)
	}
}
