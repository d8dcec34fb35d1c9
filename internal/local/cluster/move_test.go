//go:build unix

package cluster

import (
	"errors"
	"strconv"
	"syscall"
	"testing"
	"time"
)

func TestNodesThatWereAwayKeepNoOtherTimeout(t *testing.T) {
	t.Parallel()
	c := startHere(t, Options{Replicas: 2})
	ctx := t.Context()
	const rebooted, hung, added = "lb-0001-002", "lb-0001-003", "lb-0001-004"
	if err := c.Signal(hung, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	impatient, err := c.bePatient(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Signal(hung, syscall.SIGCONT), c.Reboot(ctx, rebooted), c.AddReplica(ctx, added)); err != nil {
		t.Fatal(err)
	}
	wantTimeout(t, c, patientTimeout)
	if err := errors.Join(c.Signal(hung, syscall.SIGSTOP), impatient(), c.Signal(hung, syscall.SIGCONT)); err != nil {
		t.Fatal(err)
	}
	wantTimeout(t, c, c.opts.NodeTimeout)
}

// wantTimeout wants all nodes to have the same cluster-node-timeout.
func wantTimeout(t *testing.T, c *Cluster, want time.Duration) {
	t.Helper()
	for _, n := range c.Nodes() {
		admin := c.Admin(n.Addr)
		defer admin.Close()
		conf, err := admin.ConfigGet(t.Context(), "cluster-node-timeout").Result()
		if err != nil || conf["cluster-node-timeout"] != strconv.FormatInt(want.Milliseconds(), 10) {
			t.Errorf("%s has %v (%v), want %v", n.ID, conf, err, want)
		}
	}
}
