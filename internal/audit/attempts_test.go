package audit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/audit"
	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/target"
)

// onceMembers are more than Sets in the test below.
const onceMembers = 20_000

// onceSet is what the test keeps of a Set: what the worker below the ledger said.
type onceSet struct {
	member string
	score  float64
	err    error
	failed []error
	known  bool
}

// maySend says, of the text of an error alone, whether the attempt may have
// sent the Set to a server that took it.
func maySend(err error) bool {
	text := err.Error()
	return !strings.Contains(text, "connect: connection refused") && !strings.HasPrefix(text, "MOVED ") &&
		!strings.HasPrefix(text, "CLUSTERDOWN ") && !strings.HasPrefix(text, "READONLY ")
}

// doubtful is a Set that failed and may have been applied nevertheless. One that
// was answered is none, whatever its attempts before.
func (s onceSet) doubtful() bool {
	return s.err != nil && (!s.known || maySend(s.err) || slices.ContainsFunc(s.failed, maySend))
}

// witness keeps what a worker did. It is the worker to the ledger.
type witness struct {
	*target.Worker
	of *onceSite
}

var _ audit.Attempter = witness{}

func (w witness) Do(ctx context.Context, op *ranking.Op) (ranking.Reply, error) {
	reply, err := w.Worker.Do(ctx, op)
	failed, known := w.Attempts()
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	w.of.sets = append(w.of.sets, onceSet{strings.Clone(op.Member), op.Score, err, slices.Clone(failed), known})
	if err == nil {
		w.of.answered++
	}
	return reply, err
}

// onceSite is a primary and a replica, and a load that sets each member once:
// so that the fate of every Set can be read from the score of its member.
type onceSite struct {
	t                *testing.T
	cluster          *cluster.Cluster
	primary, replica *redis.Client
	client           *target.Client
	ledger           *audit.Ledger
	ranking          *ranking.Ranking

	gate sync.RWMutex // read while a Set is on its way
	next atomic.Int64
	stop chan struct{}
	wg   sync.WaitGroup

	mu       sync.Mutex // guards what follows
	sets     []onceSet
	answered int
}

func newOnceSite(t *testing.T, profile string) *onceSite {
	c := clustertest.Start(t, cluster.Options{Replicas: 1})
	s := &onceSite{t: t, cluster: c, primary: c.Admin(c.Addrs()[0]), replica: c.Admin(c.Addrs()[1]), stop: make(chan struct{})}
	t.Cleanup(func() {
		_ = s.primary.Close()
		_ = s.replica.Close()
	})
	s.ledger, s.ranking = newLedger(t, onceMembers, siteSpread, clock())
	var rows []redis.Z
	for id := range s.ranking.Members {
		rows = append(rows, redis.Z{Score: s.ranking.InitialScore(id), Member: s.name(id)})
	}
	for part := range slices.Chunk(rows, 1000) {
		if err := s.primary.ZAdd(t.Context(), s.ranking.Key, part...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	cfg := config.ForAddresses(c.Addrs())
	cfg.Client.Profile, cfg.Client.Options = profile, map[string]string{"read_timeout": "300ms"}
	var err error
	if s.client, err = target.Open(cfg, s.ranking.Key, target.Need{Workers: siteWorkers, FindWorkers: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.client.Close() })
	return s
}

func (s *onceSite) name(id int64) string { return string(s.ranking.AppendMember(nil, id)) }

// load sets one member after the other, to a score that it has not.
func (s *onceSite) load() {
	for i := range siteWorkers {
		w := s.ledger.Wrap(witness{s.client.Worker(i), s}, target.Classify)
		s.wg.Go(func() {
			pause := time.NewTicker(4 * time.Millisecond)
			defer pause.Stop()
			for id := s.next.Add(1) - 1; id < onceMembers; id = s.next.Add(1) - 1 {
				select {
				case <-s.stop:
					return
				case <-pause.C:
					s.setOnce(w, id)
				}
			}
		})
	}
}

func (s *onceSite) setOnce(w load.Target, id int64) {
	op := ranking.Op{Kind: ranking.Set, Member: s.name(id), Score: float64((int64(s.ranking.InitialScore(id)) + 1) % siteSpread)}
	s.gate.RLock()
	defer s.gate.RUnlock()
	_, _ = w.Do(context.Background(), &op) // the witness keeps what came of it
}

// more waits until so many Sets more were answered, or failed.
func (s *onceSite) more(answered, failed int) {
	s.t.Helper()
	count := func() (a, f int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.answered, len(s.sets) - s.answered
	}
	a0, f0 := count()
	eventually(s.t, fmt.Sprintf("%d Sets answered and %d failed", answered, failed), func() bool {
		a, f := count()
		return a-a0 >= answered && f-f0 >= failed
	})
}

func (s *onceSite) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cluster.Signal(s.cluster.Nodes()[0].ID, sig); err != nil {
		s.t.Fatal(err)
	}
}

// hangsWhenReplicated stops the primary at a moment when the replica has all
// that was answered, so that nothing of it gets lost if it dies then.
func (s *onceSite) hangsWhenReplicated() {
	s.t.Helper()
	s.gate.Lock()
	defer s.gate.Unlock()
	if n, err := s.primary.Do(s.t.Context(), "wait", 1, patience.Milliseconds()).Int(); err != nil || n != 1 {
		s.t.Fatalf("%d replicas have everything: %v", n, err)
	}
	s.signal(syscall.SIGSTOP)
}

func (s *onceSite) failover() {
	s.t.Helper()
	s.more(300, 0)
	s.signal(syscall.SIGSTOP)
	s.more(0, siteWorkers) // time out, and are applied later
	s.signal(syscall.SIGCONT)
	s.more(300, 0)
	s.hangsWhenReplicated()
	s.more(0, siteWorkers) // time out, and get lost
	if err := s.cluster.Kill(s.cluster.Nodes()[0].ID); err != nil {
		s.t.Fatal(err)
	}
	s.more(0, 150) // are refused
	if err := s.cluster.Promote(s.t.Context(), s.cluster.Nodes()[1].ID); err != nil {
		s.t.Fatal(err)
	}
	s.more(300, 0)
	close(s.stop)
	s.wg.Wait()
}

// count is what the test finds out by itself.
type count struct {
	answered, failed, doubtful uint64
	applied                    int64   // failed, and the score is there nevertheless
	doubts                     []error // of the doubtful ones
}

func (s *onceSite) count() (c count) {
	s.t.Helper()
	rows, err := s.replica.ZRangeWithScores(s.t.Context(), s.ranking.Key, 0, -1).Result()
	if err != nil {
		s.t.Fatal(err)
	}
	there := map[string]float64{}
	for _, z := range rows {
		there[z.Member.(string)] = z.Score
	}
	for _, set := range s.sets {
		c.add(s.t, set, there[set.member] == set.score)
	}
	return c
}

func (c *count) add(t *testing.T, s onceSet, applied bool) {
	t.Helper()
	if s.err == nil {
		c.answered++
		if !applied {
			t.Errorf("%s was answered, and is not there", s.member)
		}
		return
	}
	c.failed++
	if applied {
		c.applied++
	}
	if s.doubtful() {
		c.doubtful++
		c.doubts = append(c.doubts, errors.Join(s.failed...))
	} else if applied {
		t.Errorf("%s is there, though no attempt was sent: %v, %v", s.member, s.err, s.failed)
	}
}

// TestRefusedSetsAreNotIndeterminate: of the Sets that fail in a failover only
// those count that were on their way when the primary hung, and every one whose
// score is there after all is among them.
func TestRefusedSetsAreNotIndeterminate(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{config.Tuned, config.Raw} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			s := newOnceSite(t, profile)
			s.load()
			s.failover()
			got, err := s.ledger.Check(t.Context(), s.client.Store(), audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := s.count()
			t.Logf("%d answered, %d failed, of which %d were applied; the ledger: %d indeterminate, %d lost, %d ghosts",
				want.answered, want.failed, want.applied, got.Indeterminate, got.Lost, got.Ghosts)
			if got.Acknowledged != want.answered || got.Lost != 0 || got.Missing != 0 || got.Changed != 0 {
				t.Errorf("%d answered, none lost; the ledger: %s", want.answered, text(t, got))
			}
			if got.Indeterminate != want.doubtful || got.Ghosts != want.applied {
				t.Errorf("%d indeterminate, %d of them applied: %q; the ledger: %s", want.doubtful, want.applied, want.doubts, text(t, got))
			}
			if got.Ghosts == 0 || got.Indeterminate > want.failed/3 {
				t.Errorf("%d failed; the ledger: %s", want.failed, text(t, got))
			}
		})
	}
}
