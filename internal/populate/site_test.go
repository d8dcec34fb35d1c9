package populate_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/populate"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/target"
)

// fillEnv makes this test binary a process that fills, to be killed.
const fillEnv = "RANKBENCH_TEST_FILL"

func TestMain(m *testing.M) {
	if job := os.Getenv(fillEnv); job != "" {
		fillToBeKilled(job)
		return
	}
	goleak.VerifyTestMain(m,
		// The driver's pool looks for a dead server once a second, and notices
		// only then that it was closed.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// patience bounds waits for what takes a healthy machine a second at most.
const patience = 20 * time.Second

// site is a real target with a ranking of its own key.
type site struct {
	*target.Store
	key    string
	addrs  []string // the primary first
	direct map[string]*redis.Client
}

// servers are shared by tests; every site has its own key.
type servers struct {
	t      *testing.T
	mode   string
	addrs  []string
	direct map[string]*redis.Client
}

func start(t *testing.T, o cluster.Options) *servers {
	t.Helper()
	c := clustertest.Start(t, o)
	s := &servers{t, config.Cluster, c.Addrs(), map[string]*redis.Client{}}
	if o.Standalone {
		s.mode = config.Standalone
	}
	for _, addr := range c.Addrs() {
		s.direct[addr] = redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true, OnConnect: asReader})
		t.Cleanup(func() { _ = s.direct[addr].Close() })
	}
	return s
}

// asReader lets a cluster's replica answer; a standalone server refuses it, and needs it not.
func asReader(ctx context.Context, c *redis.Conn) error {
	_ = c.ReadOnly(ctx).Err()
	return nil
}

func (s *servers) primary() *redis.Client { return s.direct[s.addrs[0]] }

func (s *servers) site(t *testing.T, key string) *site {
	t.Helper()
	c := openStore(t, s.mode, s.addrs, key)
	t.Cleanup(func() { _ = c.Close() })
	return &site{c.Store(), key, s.addrs, s.direct}
}

func openStore(t *testing.T, mode string, addrs []string, key string) *target.Client {
	t.Helper()
	cfg := config.ForAddresses(addrs)
	cfg.Client.ReadFrom = config.Primary
	if cfg.Target.Mode = mode; mode == config.Standalone {
		cfg.Target.Addresses = addrs[:1]
	}
	c, err := target.Open(cfg, key, target.Need{Workers: 6})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newRanking(t *testing.T, s ranking.Spec) *ranking.Ranking {
	t.Helper()
	r, err := ranking.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// spec is the ranking of most tests: members share scores, and the last batch
// is not full.
func (s *site) spec() ranking.Spec {
	return ranking.Spec{Key: s.key, Members: 4_321, ScoreSpread: 97, MemberFormat: "m:%05d", Seed: 5}
}

func (s *site) options(t *testing.T, spec ranking.Spec) populate.Options {
	t.Helper()
	return populate.Options{
		Ranking:  newRanking(t, spec),
		Appender: func(size int) populate.Appender { return s.Appender(size) },
	}
}

func (s *site) fill(t *testing.T, o populate.Options) populate.Report {
	t.Helper()
	r, err := populate.Populate(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// expectExact compares the whole sorted set on every node with the model: all
// positions of the ranking, and nothing else.
func (s *site) expectExact(t *testing.T, spec ranking.Spec) {
	t.Helper()
	r, want := newRanking(t, spec), map[string]float64{}
	for pos := range spec.Members {
		id, score := r.At(pos)
		want[string(r.AppendMember(nil, id))] = score
	}
	if int64(len(want)) != spec.Members {
		t.Fatalf("the model has %d members, not %d", len(want), spec.Members)
	}
	for addr, got := range s.content(t) {
		if !maps.Equal(got, want) {
			t.Errorf("%s: %d members; %s", addr, len(got), firstDifference(got, want))
		}
	}
}

func (s *site) content(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	out := map[string]map[string]float64{}
	for addr, c := range s.direct {
		z, err := c.ZRangeWithScores(t.Context(), s.key, 0, -1).Result()
		if err != nil {
			t.Fatal(err)
		}
		out[addr] = map[string]float64{}
		for _, x := range z {
			out[addr][x.Member.(string)] = x.Score
		}
	}
	return out
}

func firstDifference(got, want map[string]float64) string {
	for _, m := range slices.Sorted(maps.Keys(want)) {
		if score, ok := got[m]; !ok || score != want[m] {
			return fmt.Sprintf("%s has %v (there: %t), want %v", m, score, ok, want[m])
		}
	}
	return "there are members that no position has"
}

// zadds is how many ZADDs the primary has counted.
func (s *site) zadds(t *testing.T) int64 {
	t.Helper()
	text, err := s.direct[s.addrs[0]].Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(text, "cmdstat_zadd:calls=")
	if !ok {
		return 0
	}
	digits, _, _ := strings.Cut(rest, ",")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// on is one command straight to the primary.
func (s *site) on(t *testing.T, args ...any) any {
	t.Helper()
	v, err := s.direct[s.addrs[0]].Do(t.Context(), args...).Result()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
