package clustertest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStartGivesATestItsOwnClusterAndEndsItWithTheTest(t *testing.T) {
	var pid int
	t.Run("inner", func(t *testing.T) {
		c := clustertest.Start(t, cluster.Options{Standalone: true})
		pid = c.Nodes()[0].PID
		if err := c.Kill(c.Nodes()[0].ID); err != nil {
			t.Error(err) // and its death goes to the log of a test that is about to end
		}
	})
	if _, err := cluster.Identify(pid); err == nil {
		t.Errorf("process %d outlives its test", pid)
	}
}
