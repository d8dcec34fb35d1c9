package run_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/run"
)

const setsOnly = `
name: lost
ranking: { key: lost, members: 2_000, score_spread: 100 }
phases:
  - { name: first, duration: 1s, ops: { set: { rate: 100 } } }
  - { name: second, duration: 2s, ops: { set: { rate: 200 }, get: { rate: 1 } } }
`

// firstLines calls do when the first lines are printed.
type firstLines struct {
	once *sync.Once
	do   func()
}

func (f firstLines) Write(p []byte) (int, error) {
	f.once.Do(f.do)
	return len(p), nil
}

// A Set makes good for a member that is gone, so that nothing fails: that the
// ranking lost its members shows all the same.
func TestSetsThatAddMembersTellOfALostRanking(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{})
	sc := parse(t, setsOnly, "phases.1.ops={set: {rate: 200}}")
	o := options(t, sc, c)
	fill(t, o)
	flushed := make(chan error, 1)
	o.Lines = firstLines{new(sync.Once), func() { flushed <- flush(t.Context(), c.Addrs()[0]) }}
	s, _, err := run.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-flushed; err != nil {
		t.Fatal(err)
	}
	expectAccounted(t, s)
	sets := s.Phases[1].Ops["set"].OK
	if added := s.Client.AddedBySet; added == 0 || added > sets {
		t.Errorf("%d Sets added members, of %d after the ranking was lost", added, sets)
	}
	if !strings.Contains(strings.Join(s.Warnings, "\n"), "lost members") {
		t.Errorf("warnings are %q", s.Warnings)
	}
}

func flush(ctx context.Context, addr string) error {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	return rdb.FlushAll(ctx).Err()
}

// A slow rate's last operation comes long before the phase's end; the phase
// lasts to its end nevertheless, and the next begins after it.
func TestPhasesFollowOneAnother(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{})
	sc := parse(t, setsOnly, "phases.0.ops={get: {rate: 1}}", "phases.0.duration=1500ms")
	o := options(t, sc, c)
	fill(t, o)
	s, _, err := run.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	const rounding = 1e-6 // of offsets as seconds
	if a, b := s.Phases[0], s.Phases[1]; a.ToS-a.FromS < 1.5-rounding || b.FromS < a.ToS {
		t.Errorf("phases from %.3f s to %.3f s, and from %.3f s", a.FromS, a.ToS, b.FromS)
	}
}

// An operation that hangs has no outcome; its line is there all the same.
func TestHangingOperationHasItsLine(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{})
	o := options(t, parse(t, setsOnly, "phases.1.ops.get.rate=0.5", "phases.1.duration=3s"), c)
	fill(t, o)
	var lines strings.Builder // written by one goroutine, read when Load has returned
	o.Lines = &lines
	if _, _, err := run.Load(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	// Get comes due at 0 s and 2 s: the middle one of three lines has no outcome.
	if got := strings.Count(lines.String(), "second get"); got != 3 {
		t.Errorf("%d lines of get in:\n%s", got, &lines)
	}
}

func TestReplicaIsNoTargetForWrites(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{Standalone: true, Replicas: 1})
	var primary, replica string
	for _, n := range c.Nodes() {
		if n.Primary {
			primary = n.Addr
		} else {
			replica = n.Addr
		}
	}
	o := options(t, parse(t, setsOnly), c)
	o.Config = config.ForAddresses([]string{replica})
	o.Config.Target.Mode = config.Standalone
	_, _, err := run.Load(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "is a replica") || !strings.Contains(fail.HintOf(err), primary) {
		t.Errorf("load says %v, hint %q", err, fail.HintOf(err))
	}
	if _, err := run.Populate(t.Context(), o, false); err == nil || !strings.Contains(err.Error(), "is a replica") {
		t.Errorf("populate says %v", err)
	}
}

// Through a tunnel the endpoint answers and the nodes it names do not.
func TestAnnouncedAddressThatCannotBeReachedIsTold(t *testing.T) {
	c := clustertest.Start(t, cluster.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0") // its port is free, and nothing listens there afterwards
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	rdb := redis.NewClient(&redis.Options{Addr: c.Addrs()[0]})
	defer rdb.Close()
	if err := rdb.ConfigSet(t.Context(), "cluster-announce-port", port).Err(); err != nil {
		t.Fatal(err)
	}
	o := options(t, parse(t, setsOnly), c)
	began := time.Now()
	_, _, err = run.Load(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "announces as the ranking's primary") || !strings.Contains(fail.HintOf(err), "tunnel") {
		t.Errorf("load says %v, hint %q", err, fail.HintOf(err))
	}
	if took := time.Since(began); took > 10*time.Second { // the bound for a wrong config
		t.Errorf("it took %v", took)
	}
}
