package audit_test

import (
	"context"
	"fmt"
	"os"
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

const (
	siteMembers = 2000
	siteSpread  = 1000
	siteWorkers = 4
	marked      = 200 // members that only the test itself sets
)

// patience bounds waits for what takes a healthy machine seconds at most.
const patience = 30 * time.Second

func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); !check(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("after %v: not yet %s", patience, what)
		}
	}
}

// site is a primary and a replica, and a load through the ledger. Each worker
// owns its members, so that what must be there is one score a member, which
// the test counts by itself: in a map, without the ledger's ways.
type site struct {
	t                *testing.T
	cluster          *cluster.Cluster
	primary, replica *redis.Client
	nodes            []cluster.Node
	client           *target.Client
	ledger           *audit.Ledger
	ranking          *ranking.Ranking

	stop  chan struct{}
	wg    sync.WaitGroup
	count atomic.Int64 // Sets of the workers that were answered

	mu     sync.Mutex
	wanted map[string]float64          // last answered
	asked  map[string]map[float64]bool // not answered
}

func newSite(t *testing.T) *site {
	c := clustertest.Start(t, cluster.Options{Replicas: 1})
	s := &site{
		t: t, cluster: c, nodes: c.Nodes(), primary: c.Admin(c.Addrs()[0]), replica: c.Admin(c.Addrs()[1]),
		stop: make(chan struct{}), wanted: map[string]float64{}, asked: map[string]map[float64]bool{},
	}
	t.Cleanup(func() {
		_ = s.primary.Close()
		_ = s.replica.Close()
	})
	s.ledger, s.ranking = newLedger(t, siteMembers, siteSpread, clock())
	for pos := range s.ranking.Members {
		id, score := s.ranking.At(pos)
		if err := s.primary.ZAdd(t.Context(), s.ranking.Key, redis.Z{Score: score, Member: s.name(id)}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	s.client, err = target.Open(config.ForAddresses(c.Addrs()), s.ranking.Key, target.Need{Workers: siteWorkers + 1, FindWorkers: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.client.Close() })
	return s
}

func (s *site) name(id int64) string { return string(s.ranking.AppendMember(nil, id)) }

// set sets a member and counts what became of it.
func (s *site) set(w load.Target, id int64, score float64) error {
	op := ranking.Op{Kind: ranking.Set, Member: s.name(id), Score: score}
	_, err := w.Do(context.Background(), &op)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.wanted[op.Member] = score
		return nil
	}
	if s.asked[op.Member] == nil {
		s.asked[op.Member] = map[float64]bool{}
	}
	s.asked[op.Member][score] = true
	return err
}

func (s *site) worker(i int) load.Target { return s.ledger.Wrap(s.client.Worker(i), target.Classify) }

// load sets members that are not marked, until stop.
func (s *site) load() {
	for i := range int64(siteWorkers) {
		w := s.worker(int(i))
		s.wg.Go(func() {
			pause := time.NewTicker(5 * time.Millisecond)
			defer pause.Stop()
			draw := ranking.NewStream(7, uint64(i))
			for {
				select {
				case <-s.stop:
					return
				default:
				}
				id := marked + siteWorkers*int64(draw.Below((siteMembers-marked)/siteWorkers)) + i
				if s.set(w, id, float64(draw.Below(siteSpread))) != nil {
					<-pause.C
					continue
				}
				s.count.Add(1)
			}
		})
	}
}

// more waits until the workers have had so many answers more.
func (s *site) more(n int64) {
	s.t.Helper()
	from := s.count.Load()
	eventually(s.t, fmt.Sprintf("%d Sets answered", n), func() bool { return s.count.Load() >= from+n })
}

// mark sets every marked member once, to a score it has not.
func (s *site) mark() {
	s.t.Helper()
	w := s.worker(siteWorkers)
	for id := range int64(marked) {
		if err := s.set(w, id, float64(int(s.ranking.InitialScore(id)+1)%siteSpread)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// cut ends the replication for good: the replica is given a user that the
// primary does not know, and its link is closed.
func (s *site) cut() {
	s.t.Helper()
	for _, args := range [][]any{
		{"config", "set", "masteruser", "nobody", "masterauth", "wrong"}, {"client", "kill", "type", "master"},
	} {
		if err := s.replica.Do(s.t.Context(), args...).Err(); err != nil {
			s.t.Fatal(err)
		}
	}
	eventually(s.t, "cut off", func() bool {
		n, err := s.primary.Do(s.t.Context(), "wait", 1, 1).Int()
		return err == nil && n == 0
	})
}

func (s *site) synced() {
	s.t.Helper()
	if n, err := s.primary.Do(s.t.Context(), "wait", 1, patience.Milliseconds()).Int(); err != nil || n != 1 {
		s.t.Fatalf("%d replicas have everything: %v", n, err)
	}
}

func (s *site) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cluster.Signal(s.nodes[1].ID, sig); err != nil {
		s.t.Fatal(err)
	}
}

// failover kills the primary and makes the replica its successor.
func (s *site) failover() {
	s.t.Helper()
	if err := s.cluster.Kill(s.nodes[0].ID); err != nil {
		s.t.Fatal(err)
	}
	s.signal(syscall.SIGCONT)
	if err := s.cluster.Promote(s.t.Context(), s.nodes[1].ID); err != nil {
		s.t.Fatal(err)
	}
}

// lost is the test's own count: members that have neither what was answered
// last nor what was asked for without an answer, and those with the latter.
func (s *site) lost() (lost, ghosts, marks int64) {
	s.t.Helper()
	rows, err := s.replica.ZRangeWithScores(s.t.Context(), s.ranking.Key, 0, -1).Result()
	if err != nil || len(rows) != siteMembers {
		s.t.Fatalf("read %d rows: %v", len(rows), err)
	}
	for _, z := range rows {
		member := z.Member.(string)
		id, _ := s.ranking.MemberID(member)
		want, answered := s.wanted[member]
		if !answered {
			want = s.ranking.InitialScore(id)
		}
		switch {
		case z.Score == want:
		case s.asked[member][z.Score]:
			ghosts++
		default:
			lost++
			if id < marked {
				marks++
			}
		}
	}
	return lost, ghosts, marks
}

// audit ends the load and compares the ledger's count with the test's.
func (s *site) audit() (audit.Report, int64) {
	s.t.Helper()
	close(s.stop)
	s.wg.Wait()
	got, err := s.ledger.Check(s.t.Context(), s.client.Store(), audit.Options{Batch: 100})
	if err != nil {
		s.t.Fatal(err)
	}
	lost, ghosts, marks := s.lost()
	s.t.Logf("%d acknowledged, %d lost (within %.2f s), %d indeterminate, %d ghosts", got.Acknowledged, got.Lost, got.LostWindowS, got.Indeterminate, got.Ghosts)
	if got.Lost != lost || got.Ghosts != ghosts || got.Missing != 0 || got.Changed != 0 || got.Overlapped != 0 || got.Acknowledged < uint64(s.count.Load()) {
		s.t.Errorf("the test counts %d lost and %d ghosts, the ledger: %s", lost, ghosts, text(s.t, got))
	}
	return got, marks
}

// TestAReplicaWithoutItsPrimaryLosesAllSinceThen: every Set after the cut is
// lost, on real servers and under load, and each of them is counted.
func TestAReplicaWithoutItsPrimaryLosesAllSinceThen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.load()
	s.more(500)
	s.cut()
	s.mark()
	s.more(500)
	s.failover()
	s.more(200)
	if got, marks := s.audit(); marks != marked || got.Lost < marked || got.LostWindowS <= 0 {
		t.Errorf("%d of %d marked members were lost: %s", marks, marked, text(t, got))
	}
}

// TestAReplicaThatHangsMayLoseSome: what has reached its socket is not lost.
func TestAReplicaThatHangsMayLoseSome(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.load()
	s.more(500)
	s.signal(syscall.SIGSTOP)
	s.mark()
	s.more(500)
	s.failover()
	s.more(200)
	s.audit()
}

func TestAReplicaThatHasEverythingLosesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.mark()
	s.synced()
	s.failover()
	s.load()
	s.more(200)
	if got, _ := s.audit(); got.Lost != 0 || got.LostFromS != nil {
		t.Errorf("nothing was lost, and the ledger: %s", text(t, got))
	}
}
