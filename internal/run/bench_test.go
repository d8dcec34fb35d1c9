package run

import (
	"context"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/measure"
	"github.com/rankbench/rankbench/internal/plan"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/scenario"
	"github.com/rankbench/rankbench/internal/target"
)

// BenchmarkCost says what rankbench costs on top of go-redis: the whole loop of
// the engine (operation, clock, target with its hook, histograms, a cut a
// second) against the barest loop over the same driver with the same settings,
// workers and server, which makes random members, reuses its commands, and
// records nothing. Both run in turns, many times, so that a noisy machine is
// noisy for both; the medians of processor time and allocations an operation
// are reported, and the median of the rounds' ratios.
func BenchmarkCost(b *testing.B) {
	c := clustertest.Start(b, cluster.Options{Shards: 1, Replicas: 1})
	f := newCostFixture(b, c.Addrs())
	for _, k := range ranking.Kinds() {
		b.Run(k.String(), func(b *testing.B) { f.compare(b, k) })
	}
}

const (
	costMembers = 100_000
	costWorkers = 16
	costRound   = 700 * time.Millisecond
	costRounds  = 16
)

type costFixture struct {
	ranking *ranking.Ranking
	config  *config.Config
	client  *target.Client
	bare    *redis.ClusterClient
}

func newCostFixture(b *testing.B, addrs []string) *costFixture {
	b.Helper()
	sc := costScenario(ranking.Set)
	pl, err := plan.Build(sc)
	if err != nil {
		b.Fatal(err)
	}
	f := &costFixture{ranking: pl.Ranking, config: config.ForAddresses(addrs)}
	o := Options{Scenario: sc, Config: f.config, Notes: quiet{}}
	if _, err := fillRanking(b.Context(), o, pl, false); err != nil {
		b.Fatal(err)
	}
	if f.client, err = target.Open(f.config, sc.Ranking.Key, target.Need{Workers: costWorkers, FindWorkers: costWorkers}); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.client.Close() })
	f.bare = bareClient(addrs)
	b.Cleanup(func() { f.bare.Close() })
	return f
}

func costScenario(k ranking.Kind) *scenario.Scenario {
	return &scenario.Scenario{
		Name: "cost", Seed: 1, ErrorPause: time.Millisecond,
		Ranking: ranking.Spec{Key: "cost", Members: costMembers, ScoreSpread: 1000, MemberFormat: ranking.DefaultMemberFormat, Seed: 1},
		Phases:  []scenario.Phase{{Name: "cost", Duration: costRound, Ops: []scenario.Load{{Kind: k, Workers: costWorkers, Count: costCount}}}},
	}
}

// bareClient has the settings of the tuned profile.
func bareClient(addrs []string) *redis.ClusterClient {
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addrs, ReadOnly: true, ClusterStateReloadInterval: time.Second, PoolSize: costWorkers, PipelinePoolSize: costWorkers,
		DialTimeout: 500 * time.Millisecond, DialerRetries: 1, ReadTimeout: time.Second, WriteTimeout: time.Second,
		ConnMaxIdleTime: -1, DisableIdentity: true, DisableRoutingPolicies: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return struct{ net.Conn }{conn}, err
		},
	})
}

// cost is what one operation took.
type cost struct{ cpu, allocs float64 }

func (f *costFixture) compare(b *testing.B, k ranking.Kind) {
	pl, err := plan.Build(costScenario(k))
	if err != nil {
		b.Fatal(err)
	}
	var engine, bare []cost
	var ratios []float64
	for range b.N {
		engine, bare, ratios = nil, nil, nil
		costOf(func() uint64 { return f.runEngine(b, pl) }) // connections, buffers
		costOf(func() uint64 { return f.runBare(b, k) })
		for round := range costRounds {
			var e, g cost
			if round%2 == 0 { // in turns, so that a drift of the machine cancels out
				e = costOf(func() uint64 { return f.runEngine(b, pl) })
			}
			g = costOf(func() uint64 { return f.runBare(b, k) })
			if round%2 == 1 {
				e = costOf(func() uint64 { return f.runEngine(b, pl) })
			}
			engine, bare, ratios = append(engine, e), append(bare, g), append(ratios, e.cpu/g.cpu)
		}
	}
	b.ReportMetric(0, "ns/op") // the time of the whole benchmark says nothing
	b.ReportMetric(median(engine, func(c cost) float64 { return c.cpu }), "engine-cpu-ns/op")
	b.ReportMetric(median(bare, func(c cost) float64 { return c.cpu }), "bare-cpu-ns/op")
	b.ReportMetric(median(engine, func(c cost) float64 { return c.allocs }), "engine-allocs/op")
	b.ReportMetric(median(bare, func(c cost) float64 { return c.allocs }), "bare-allocs/op")
	b.ReportMetric(100*(median(ratios, func(r float64) float64 { return r })-1), "overhead-%")
}

func median[T any](xs []T, of func(T) float64) float64 {
	var vs []float64
	for _, x := range xs {
		vs = append(vs, of(x))
	}
	slices.Sort(vs)
	return vs[len(vs)/2]
}

// costOf is the process's processor time and allocations by operation.
func costOf(run func() uint64) cost {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu := cpuTime()
	n := float64(run())
	cpu = cpuTime() - cpu
	runtime.ReadMemStats(&after)
	return cost{cpu: float64(cpu) / n, allocs: float64(after.Mallocs-before.Mallocs) / n}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (f *costFixture) runEngine(b *testing.B, pl *plan.Plan) uint64 {
	rec := measure.NewRecorder(0)
	start := time.Now()
	e := &load.Engine{Start: start, Classify: target.Classify, Worker: func(j plan.Job, i int) (load.Target, load.Recorder) {
		return f.client.Worker(i), rec.Worker(j.Kind, false, 0)
	}}
	claimed := e.Run(b.Context(), pl.Phases[0], 0)
	cells, _, err := rec.Cut(time.Since(start))
	if err != nil || len(cells) != 1 || len(cells[0].Errors) > 0 {
		b.Fatalf("cut: %v, cells %+v", err, cells)
	}
	return claimed[pl.Phases[0].Jobs[0].Kind]
}

func (f *costFixture) runBare(b *testing.B, k ranking.Kind) uint64 {
	var ops atomic.Uint64
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i := range costWorkers {
		wg.Go(func() { ops.Add(f.bareWorker(b, k, uint64(i), stop)) })
	}
	time.Sleep(costRound)
	close(stop)
	wg.Wait()
	return ops.Load()
}

func (f *costFixture) bareWorker(b *testing.B, k ranking.Kind, seed uint64, stop <-chan struct{}) (n uint64) {
	w := newBareWorker(f, k, seed)
	for {
		select {
		case <-stop:
			return n
		default:
		}
		if err := w.one(); err != nil {
			b.Error(err)
			return n
		}
		n++
	}
}

// bareWorker does what the recipes for go-redis say and nothing else: commands
// that are used again, Find pinned to one node.
type bareWorker struct {
	*costFixture
	kind        ranking.Kind
	draw        ranking.Stream
	score       float64
	start, stop int64
	member      [costCount]string
	bound       [costCount]string
	set         *redis.IntCmd
	page        *redis.ZSliceCmd
	gets        []redis.Cmder
	counts      []redis.Cmder
	buf         []byte
	bounds      []byte
}

const costCount = 100

func newBareWorker(f *costFixture, k ranking.Kind, seed uint64) *bareWorker {
	ctx := context.Background()
	w := &bareWorker{costFixture: f, kind: k, draw: ranking.NewStream(seed, 0)}
	w.set = redis.NewIntCmd(ctx, "zadd", f.ranking.Key, &w.score, &w.member[0])
	w.page = redis.NewZSliceCmd(ctx, "zrevrange", f.ranking.Key, &w.start, &w.stop, "withscores")
	for i := range costCount {
		w.gets = append(w.gets, redis.NewFloatCmd(ctx, "zscore", f.ranking.Key, &w.member[i]))
		w.counts = append(w.counts, redis.NewIntCmd(ctx, "zcount", f.ranking.Key, &w.bound[i], "+inf"))
	}
	for _, c := range append([]redis.Cmder{w.set, w.page}, append(w.gets, w.counts...)...) {
		c.SetFirstKeyPos(1)
	}
	return w
}

func (w *bareWorker) one() error {
	ctx := context.Background()
	switch w.kind {
	case ranking.Set:
		w.choose(1)
		w.score = float64(w.draw.Below(1000))
		return w.bare.Process(ctx, w.set)
	case ranking.Get:
		w.choose(1)
		if err := w.bare.Process(ctx, w.gets[0]); err != nil {
			return err
		}
		w.setBounds(1)
		return w.bare.Process(ctx, w.counts[0])
	case ranking.Find:
		return w.find(ctx)
	default:
		w.start = int64(w.draw.Below(costMembers - costCount))
		w.stop = w.start + costCount - 1
		if err := w.bare.Process(ctx, w.page); err != nil {
			return err
		}
		w.bounds = target.AppendBound(w.bounds[:0], w.page.Val()[0].Score)
		w.bound[0] = ranking.View(w.bounds)
		return w.bare.Process(ctx, w.counts[0])
	}
}

func (w *bareWorker) find(ctx context.Context) error {
	w.choose(costCount)
	node, err := w.bare.SlaveForKey(ctx, w.ranking.Key)
	if err != nil {
		return err
	}
	p := node.Pipeline()
	p.BatchProcess(ctx, w.gets...)
	if _, err := p.Exec(ctx); err != nil {
		return err
	}
	w.setBounds(costCount)
	p = node.Pipeline()
	p.BatchProcess(ctx, w.counts...)
	_, err = p.Exec(ctx)
	return err
}

func (w *bareWorker) choose(n int) {
	w.buf = w.buf[:0]
	for i := range n {
		from := len(w.buf)
		w.buf = w.ranking.AppendMember(w.buf, int64(w.draw.Below(costMembers)))
		w.member[i] = ranking.View(w.buf[from:])
	}
}

func (w *bareWorker) setBounds(n int) {
	w.bounds = w.bounds[:0]
	for i := range n {
		from := len(w.bounds)
		w.bounds = target.AppendBound(w.bounds, w.gets[i].(*redis.FloatCmd).Val())
		w.bound[i] = ranking.View(w.bounds[from:])
	}
}

// quiet drops notes.
type quiet struct{}

func (quiet) Note(string, ...any) {}
func (quiet) Progress(_, _ int64) {}
