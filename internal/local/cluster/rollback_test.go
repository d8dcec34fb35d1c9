package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestRollBackKeepsWhatWasWrittenToTheSource(t *testing.T) {
	t.Parallel()
	m := openSlot(t, copied, 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel() // as the batch's is when its time is used up
	if err := m.rollBackAll(ended, map[int]bool{slotOfKeys: true}); err != nil {
		t.Fatal(err)
	}
	wantAtSource(t, m)
	for _, s := range []side{m.source, m.target} {
		if table := s.client.ClusterNodes(t.Context()).Val(); table == "" || strings.Contains(table, "[") {
			t.Errorf("%s has open slots:\n%s", s.node.id, table)
		}
	}
	if n := m.target.client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("the target still has %d keys", n)
	}
}

func TestSlotOfWhichKeysHaveLeftStaysOpenUntilItIsMoved(t *testing.T) {
	t.Parallel()
	const left = 5
	m := openSlot(t, copied, left)
	if err := m.rollBackAll(t.Context(), map[int]bool{slotOfKeys: true}); err == nil || !strings.Contains(err.Error(), "stays open") {
		t.Errorf("error %v", err)
	}
	wantAtSource(t, m)
	if n := m.target.client.DBSize(t.Context()).Val(); n != left {
		t.Errorf("the target has %d keys, want the %d that have left", n, left)
	}
	if err := m.batch(t.Context(), []int{slotOfKeys}); err != nil {
		t.Fatal(err)
	}
	for i := range copied + left {
		want := "fresh"
		if i >= copied {
			want = "moved"
		}
		if got, err := m.target.client.Get(t.Context(), key(i)).Result(); got != want {
			t.Errorf("%s is %q (%v) in the end, want %q", key(i), got, err, want)
		}
	}
}

const (
	slotOfKeys = 0
	copied     = 2*migrateKeys + 5
)

// openSlot makes the state that a failed MIGRATE leaves: a slot is open, so many of
// its keys are at both ends, and others only at the target.
func openSlot(t *testing.T, both, left int) *migration {
	t.Helper()
	c := startHere(t, Options{Shards: 2})
	m, err := c.newMigration(t.Context(), "0001", "0002")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	for i := range both {
		set(t, m.source.client, key(i), "fresh", false)
	}
	if err := m.open(t.Context(), []int{slotOfKeys}); err != nil {
		t.Fatal(err)
	}
	for i := range both + left {
		set(t, m.target.client, key(i), "moved", true)
	}
	return m
}

// wantAtSource wants the source to have what was last written to it.
func wantAtSource(t *testing.T, m *migration) {
	t.Helper()
	for i := range copied {
		if got, err := m.source.client.Get(t.Context(), key(i)).Result(); got != "fresh" {
			t.Errorf("%s is %q (%v) at the source", key(i), got, err)
		}
	}
}

// key is the name of a key in slotOfKeys.
func key(i int) string { return fmt.Sprintf("{06S}:%d", i) }

// set writes a key, with ASKING to a node that imports its slot.
func set(t *testing.T, client *redis.Client, key, value string, asking bool) {
	t.Helper()
	_, err := client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		if asking {
			p.Do(t.Context(), "asking")
		}
		p.Set(t.Context(), key, value, 0)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// startHere is clustertest.Start, which this package cannot import.
func startHere(t *testing.T, o Options) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), o)
	if errors.Is(err, ErrNoServer) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
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
