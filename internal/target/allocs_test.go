package target_test

import (
	"testing"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/ranking"
)

// TestSetAndGetAllocateNothing: neither we nor the driver, when it is tuned.
func TestSetAndGetAllocateNothing(t *testing.T) {
	const key = "allocs"
	for _, mode := range []string{config.Cluster, config.Standalone} {
		s := startServers(t, cluster.Options{Standalone: mode == config.Standalone, Replicas: 1})
		newModel(t, key, s.primary, s.all)
		w := open(t, s.config(kind{mode, config.Replica, config.Tuned}), key, 1).Worker(0)
		const member = "p:0001"
		for _, op := range []ranking.Op{
			{Kind: ranking.Set, Member: member, Score: 3},
			{Kind: ranking.Get, Member: member},
		} {
			got := testing.AllocsPerRun(2000, func() { do(t, w, op) })
			t.Logf("%s: %v allocates %.0f times", mode, op.Kind, got)
			// AllocsPerRun counts the whole process, so that it sees the driver's
			// reload of the topology once a second; it rounds down.
			if got > 0.5 {
				t.Errorf("%s: %v allocates %.1f times, want none", mode, op.Kind, got)
			}
		}
	}
}
