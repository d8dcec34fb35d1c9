//go:build unix

package target_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/audit"
	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/target"
)

var _ audit.Attempter = (*target.Worker)(nil)

// clusterConfig is a cluster's config of a profile with options of its own.
func (s servers) clusterConfig(profile string, options map[string]string) *config.Config {
	cfg := s.config(kind{config.Cluster, config.Primary, profile})
	cfg.Client.Options = options
	return cfg
}

// refusedByDial says that no connection was made, so that nothing was sent.
func refusedByDial(err error) bool {
	var op *net.OpError
	return target.Classify(err) == load.Refused && errors.As(err, &op) && op.Op == "dial"
}

func timedOut(err error) bool { return target.Classify(err) == load.Timeout }

func moved(err error) bool { return target.Classify(err) == load.Moved }

// expectAttempts compares what the worker knows of its last Do: all attempts,
// those that failed one by one.
func expectAttempts(t *testing.T, w *target.Worker, want ...func(error) bool) {
	t.Helper()
	failed, known := w.Attempts()
	ok := known && len(failed) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = want[i](failed[i])
	}
	if !ok {
		t.Errorf("%d attempts failed, want %d, all of them known: %v, errors %v", len(failed), len(want), known, failed)
	}
}

// TestSetsToADeadPrimaryWereNeverSent: once the connections of before are gone.
func TestSetsToADeadPrimaryWereNeverSent(t *testing.T) {
	t.Parallel()
	for profile, attempts := range map[string]int{config.Tuned: 4, config.Raw: 1, config.DriverDefaults: 4} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			s := startServers(t, cluster.Options{Replicas: 1})
			// One dial an attempt, in the driver's defaults too, which take 2 s for five.
			w := open(t, s.clusterConfig(profile, map[string]string{"dialer_retries": "1"}), classifyKey, 1).Worker(0)
			do(t, w, aSet)
			expectAttempts(t, w)
			if err := s.cluster.Kill(s.cluster.Nodes()[0].ID); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Do(t.Context(), &aSet); target.Classify(err) == load.OK {
				t.Fatal("a Set to a dead primary succeeded")
			}
			// The driver's own dialler lets it look at a connection before it uses it.
			if failed, _ := w.Attempts(); profile != config.DriverDefaults && (len(failed) == 0 || target.Classify(failed[0]) != load.Reset) {
				t.Errorf("the first attempt had a connection: %v, want class reset first", failed)
			}
			for range 5 {
				if _, err := w.Do(t.Context(), &aSet); !refusedByDial(err) {
					t.Errorf("%v, want a dial that was refused", err)
				}
				expectAttempts(t, w, slices.Repeat([]func(error) bool{refusedByDial}, attempts)...)
			}
		})
	}
}

// TestASetToAHungPrimaryMayBeApplied: it is, once the primary goes on.
func TestASetToAHungPrimaryMayBeApplied(t *testing.T) {
	t.Parallel()
	for profile, attempts := range map[string]int{config.Tuned: 4, config.Raw: 1} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			s := startServers(t, cluster.Options{})
			cfg := s.clusterConfig(profile, map[string]string{"read_timeout": "200ms"})
			w := open(t, cfg, classifyKey, 1).Worker(0)
			eventually(t, patience, func() error { // 200 ms are little on a crowded machine
				_, err := w.Do(t.Context(), &aSet)
				return err
			})
			id := s.cluster.Nodes()[0].ID
			stop(t, s.cluster, id)
			op := aSet
			op.Score = 42
			if _, err := w.Do(t.Context(), &op); !timedOut(err) {
				t.Errorf("%v, want a timeout", err)
			}
			expectAttempts(t, w, slices.Repeat([]func(error) bool{timedOut}, attempts)...)
			if err := s.cluster.Signal(id, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			eventually(t, patience, func() error {
				if got, err := s.primary.ZScore(t.Context(), classifyKey, op.Member).Result(); err != nil || got != op.Score {
					return fmt.Errorf("the score is %v: %w", got, err)
				}
				return nil
			})
		})
	}
}

// TestASetAfterARedirectListsIt: the driver follows it, or shows it.
func TestASetAfterARedirectListsIt(t *testing.T) {
	t.Parallel()
	s := startServers(t, cluster.Options{Replicas: 1})
	never := map[string]string{"cluster_state_reload_interval": "1h"}
	tuned := open(t, s.clusterConfig(config.Tuned, never), classifyKey, 1).Worker(0)
	raw := open(t, s.clusterConfig(config.Raw, never), classifyKey, 1).Worker(0)
	do(t, tuned, aSet)
	do(t, raw, aSet)
	ok(t, s.all[s.addrs[1]].ClusterFailover(t.Context()))
	eventually(t, patience, func() error {
		if role, err := s.primary.Do(t.Context(), "role").Slice(); err != nil || role[0] != "slave" {
			return fmt.Errorf("the old primary is %v: %w", role, err)
		}
		return nil
	})
	do(t, tuned, aSet)
	expectAttempts(t, tuned, moved)
	eventually(t, patience, func() error { // the list is of the last Do, once the topology is read again
		do(t, tuned, aSet)
		failed, _ := tuned.Attempts()
		return errors.Join(failed...)
	})
	if _, err := raw.Do(t.Context(), &aSet); !moved(err) {
		t.Errorf("%v, want a redirect", err)
	}
	expectAttempts(t, raw, moved)
}

// TestASetBehindAskingIsFollowed: while its slot moves, a key that is not there
// yet is asked for elsewhere, in a pipeline behind ASKING.
func TestASetBehindAskingIsFollowed(t *testing.T) {
	t.Parallel()
	s := startServers(t, cluster.Options{Shards: 2})
	from, to := s.migrating(t, classifyKey)
	cfg := s.clusterConfig(config.Tuned, map[string]string{"read_timeout": "200ms", "max_redirects": "1"})
	w := open(t, cfg, classifyKey, 1).Worker(0)
	eventually(t, patience, func() error {
		_, err := w.Do(t.Context(), &aSet)
		return err
	})
	expectAttempts(t, w, moved)
	if n := s.all[to.Addr].Do(t.Context(), "cluster", "countkeysinslot", slotOf(t, s, classifyKey)).Val(); n != int64(1) {
		t.Errorf("%v keys at the node that was asked, want 1", n)
	}
	// The node that is asked hangs: the command keeps the error of the attempt
	// before, and only the pipeline's tells that it may have been applied.
	stop(t, s.cluster, to.ID)
	if _, err := w.Do(t.Context(), &aSet); !timedOut(err) {
		t.Errorf("%v, want a timeout", err)
	}
	expectAttempts(t, w, moved, timedOut)
	if d := s.all[from.Addr].Exists(t.Context(), classifyKey); d.Val() != 0 {
		t.Error("the key is at the node that the slot moves from")
	}
}

func slotOf(t *testing.T, s servers, key string) int64 {
	t.Helper()
	slot, err := s.primary.ClusterKeySlot(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

// migrating begins to move the key's slot to another shard.
func (s servers) migrating(t *testing.T, key string) (from, to cluster.Node) {
	t.Helper()
	from, _ = owner(t, s.cluster, key)
	nodes := s.cluster.Nodes()
	to = nodes[slices.IndexFunc(nodes, func(n cluster.Node) bool { return n.Addr != from.Addr })]
	id := func(n cluster.Node) string { return s.all[n.Addr].Do(t.Context(), "cluster", "myid").Val().(string) }
	slot := slotOf(t, s, key)
	ok(t, s.all[to.Addr].Do(t.Context(), "cluster", "setslot", slot, "importing", id(from)))
	ok(t, s.all[from.Addr].Do(t.Context(), "cluster", "setslot", slot, "migrating", id(to)))
	return from, to
}

// move moves the key, alone in its slot, to the other shard.
func (s servers) move(t *testing.T, key string) {
	t.Helper()
	from, to := s.migrating(t, key)
	host, port, err := net.SplitHostPort(to.Addr)
	if err != nil {
		t.Fatal(err)
	}
	ok(t, s.all[from.Addr].Do(t.Context(), "migrate", host, port, key, 0, patience.Milliseconds()))
	slot, id := slotOf(t, s, key), s.all[to.Addr].Do(t.Context(), "cluster", "myid").Val()
	for _, n := range []cluster.Node{to, from} {
		ok(t, s.all[n.Addr].Do(t.Context(), "cluster", "setslot", slot, "node", id))
	}
}

// TestNoAttemptIsMadeWithoutATopology: nobody there, nothing sent.
func TestNoAttemptIsMadeWithoutATopology(t *testing.T) {
	t.Parallel()
	cfg := config.ForAddresses([]string{deadAddr(t)})
	w := open(t, cfg, classifyKey, 1).Worker(0)
	if _, err := w.Do(t.Context(), &aSet); !refusedByDial(err) {
		t.Errorf("%v, want a dial that was refused", err)
	}
	expectAttempts(t, w)
}

// TestAttemptsAreNotKnownWhereTheDriverHidesThem: its clients' own retries, and
// the pipelines of a Find.
func TestAttemptsAreNotKnownWhereTheDriverHidesThem(t *testing.T) {
	t.Parallel()
	c := startServers(t, cluster.Options{})
	s := startServers(t, cluster.Options{Standalone: true, Replicas: 1})
	own := map[string]string{"max_retries": "2"}
	none := map[string]string{"max_retries": "-1"}
	find := ranking.Op{Kind: ranking.Find, Members: []string{"m"}, Count: 1}
	for _, tc := range []struct {
		servers       servers
		mode, profile string
		options       map[string]string
		op            ranking.Op
		known         bool
	}{
		{c, config.Cluster, config.Tuned, nil, aSet, true},
		{c, config.Cluster, config.DriverDefaults, nil, aSet, true},
		{c, config.Cluster, config.Raw, nil, aSet, true},
		{c, config.Cluster, config.Raw, own, aSet, false},
		{c, config.Cluster, config.Tuned, nil, find, false},
		{s, config.Standalone, config.Tuned, nil, aSet, false},
		{s, config.Standalone, config.DriverDefaults, nil, aSet, false},
		{s, config.Standalone, config.Raw, nil, aSet, true},
		{s, config.Standalone, config.Tuned, none, aSet, true},
		{s, config.Endpoints, config.Tuned, nil, aSet, false},
		{s, config.Endpoints, config.Raw, nil, aSet, true},
		{s, config.Endpoints, config.Raw, own, aSet, false},
	} {
		cfg := tc.servers.config(kind{tc.mode, config.Primary, tc.profile})
		cfg.Client.Options = tc.options
		w := open(t, cfg, classifyKey, 1).Worker(0)
		do(t, w, aSet)
		do(t, w, tc.op)
		if failed, known := w.Attempts(); known != tc.known || len(failed) > 0 {
			t.Errorf("%s %s %v, %v: known %v, want %v; failed %v", tc.mode, tc.profile, tc.options, tc.op.Kind, known, tc.known, failed)
		}
	}
}

// TestOneEndpointsOnlyAttemptIsKnown: with a client that does not try again.
func TestOneEndpointsOnlyAttemptIsKnown(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		addr string
		is   func(error) bool
	}{
		{deadAddr(t), refusedByDial},
		{fakeServer(t, "-READONLY You can't write against a read only replica.\r\n"), redis.IsReadOnlyError},
		{fakeServer(t, ""), timedOut},
	} {
		w := open(t, standalone(tc.addr, map[string]string{"read_timeout": "200ms"}), classifyKey, 1).Worker(0)
		if _, err := w.Do(t.Context(), &aSet); !tc.is(err) {
			t.Errorf("%s: %v", tc.addr, err)
		}
		expectAttempts(t, w, tc.is)
	}
}

// TestServersSawEveryAttemptThatWasSent: the key moves to and fro under load.
// The servers count what they ran and what they refused; no attempt is missing,
// and none too many.
func TestServersSawEveryAttemptThatWasSent(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{config.Tuned, config.Raw} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			s := startServers(t, cluster.Options{Shards: 2})
			// With patience no answer is missed, however crowded the machine is.
			cfg := s.clusterConfig(profile, map[string]string{"read_timeout": "20s", "dial_timeout": "20s"})
			client := open(t, cfg, classifyKey, 3)
			do(t, client.Worker(2), aSet)
			before := callsOf(t, s.all)
			done := make(chan struct{})
			var wg sync.WaitGroup
			var sum [2]tally
			for i := range sum {
				wg.Go(func() { sum[i].run(client.Worker(i), done) })
			}
			for i := 0; i < 4 || errorsOf(client) == 0; i++ {
				s.move(t, classifyKey)
			}
			close(done)
			wg.Wait()
			all := sum[0].plus(sum[1])
			var ran, refused int64
			for _, d := range differences(callsOf(t, s.all), before) {
				ran, refused = ran+d.zadd, refused+d.rejected
			}
			t.Logf("%d Sets answered, %d failed; attempts that failed: %d; servers ran %d and refused %d", all.answered, all.errors, all.attempts, ran, refused)
			if all.unknown > 0 || all.strange != nil || ran != all.answered || refused != all.attempts {
				t.Errorf("%d operations with unknown attempts; not an answer: %v", all.unknown, all.strange)
			}
		})
	}
}

// errorsOf counts the attempts that failed so far.
func errorsOf(c *target.Client) (n uint64) {
	for _, d := range c.Drivers() {
		n += d.Errors
	}
	return n
}

// tally is what one worker counts of its Sets.
type tally struct {
	answered, errors, attempts, unknown int64
	strange                             error // no answer of a server
}

func (a tally) plus(b tally) tally {
	return tally{a.answered + b.answered, a.errors + b.errors, a.attempts + b.attempts, a.unknown + b.unknown, errors.Join(a.strange, b.strange)}
}

func (a *tally) run(w *target.Worker, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
		}
		op := aSet
		if _, err := w.Do(context.Background(), &op); err == nil {
			a.answered++
		} else {
			a.errors++
		}
		failed, known := w.Attempts()
		if !known {
			a.unknown++
		}
		a.attempts += int64(len(failed))
		for _, err := range failed {
			if !moved(err) {
				a.strange = err
			}
		}
	}
}
