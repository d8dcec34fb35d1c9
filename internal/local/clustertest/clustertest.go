// Package clustertest gives a test a real Redis Cluster of its own that ends
// with it. It knows testing and package cluster, and nothing else.
package clustertest

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/local/cluster"
)

// startTakes bounds the start on a machine that runs many tests at once.
const startTakes = time.Minute

// Start runs the cluster o describes until the test ends. Deaths of nodes go to
// the test's log unless o has a Log of its own. Without a server on PATH the
// test is skipped, and where CI=true it fails.
func Start(t testing.TB, o cluster.Options) *cluster.Cluster {
	t.Helper()
	Require(t)
	if o.Log == nil {
		o.Log = logger{t}
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTakes)
	defer cancel()
	c, err := cluster.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Require skips the test, or fails it where CI=true, if no server is on PATH.
func Require(t testing.TB) {
	t.Helper()
	_, err := cluster.FindServer(t.Context(), "")
	switch {
	case errors.Is(err, cluster.ErrNoServer) && os.Getenv("CI") != "true":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

// logger writes to the test's log. That is safe although watchers write from
// their own goroutines: Stop, in the test's Cleanup, waits for all of them.
type logger struct{ t testing.TB }

func (l logger) Write(p []byte) (int, error) {
	l.t.Logf("%s", strings.TrimRight(string(p), "\n"))
	return len(p), nil
}
