package measure

import (
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// ok is a success of a closed loop.
func ok(sent, done time.Duration) load.Outcome {
	return load.Outcome{Kind: ranking.Set, Due: sent, Taken: sent, Sent: sent, Done: done}
}

func failed(class load.Class, due, done time.Duration) load.Outcome {
	return load.Outcome{Kind: ranking.Set, Due: due, Taken: due, Sent: due, Done: done, Err: class}
}

func cut(t *testing.T, r *Recorder, now time.Duration) ([]result.Cell, *hdr.Histogram) {
	t.Helper()
	cells, slip, err := r.Cut(now)
	if err != nil {
		t.Fatal(err)
	}
	return cells, slip
}

// only cuts and returns the one cell there is.
func only(t *testing.T, r *Recorder, now time.Duration) result.Cell {
	t.Helper()
	cells, _ := cut(t, r, now)
	if len(cells) != 1 {
		t.Fatalf("%d cells, want 1: %+v", len(cells), cells)
	}
	return cells[0]
}

func histogramOf(t *testing.T, text string) *hdr.Histogram {
	t.Helper()
	h, err := result.DecodeHistogram(text)
	if err != nil {
		t.Fatal(err)
	}
	if h == nil {
		h = newHistogram()
	}
	return h
}

func TestSuccessesAreCountedInTheBucketOfTheirAnswer(t *testing.T) {
	r := NewRecorder(0)
	w := r.Worker(ranking.Set, false, 0)
	for _, done := range []time.Duration{0, 9999 * time.Microsecond, 10 * ms, 29*ms + 999_999, 30 * ms, 995 * ms} {
		w.Record(ok(0, done))
	}
	c := only(t, r, time.Second)
	if c.OK != 6 || c.OKAt.From != 0 || len(c.OKAt.N) != 100 {
		t.Fatalf("%d ok, from bucket %d, %d buckets", c.OK, c.OKAt.From, len(c.OKAt.N))
	}
	for bucket, want := range map[int]uint32{0: 2, 1: 1, 2: 1, 3: 1, 4: 0, 99: 1} {
		if c.OKAt.N[bucket] != want {
			t.Errorf("bucket %d has %d, want %d", bucket, c.OKAt.N[bucket], want)
		}
	}
}

func TestSeriesBeginsAndEndsWithASuccess(t *testing.T) {
	r := NewRecorder(0)
	w := r.Worker(ranking.Set, false, time.Hour)
	w.Record(ok(time.Hour, time.Hour+55*ms))
	w.Record(ok(time.Hour, time.Hour+75*ms))
	c := only(t, r, time.Hour+time.Second)
	if c.OKAt.From != 360_005 || !slices.Equal(c.OKAt.N, []uint32{1, 0, 1}) {
		t.Errorf("series is %+v, want 1 0 1 from bucket 360005", c.OKAt)
	}
}

func TestFailuresAreCountedInTheBucketInWhichTheyWereDue(t *testing.T) {
	r := NewRecorder(0)
	w := r.Worker(ranking.Set, true, 0)
	w.Record(failed(load.Timeout, 105*ms, 3105*ms))
	w.Record(failed(load.Timeout, 109*ms, 3109*ms))
	w.Record(failed(load.Timeout, 20*ms, 3020*ms))
	w.Record(failed(load.Refused, 110*ms, 110*ms))
	w.Record(failed(load.Unsent, 50*ms, 4*time.Second))
	c := only(t, r, 5*time.Second)
	if f := c.Errors["timeout"]; f.N != 3 || !slices.Equal(f.At, [][2]uint64{{2, 1}, {10, 2}}) {
		t.Errorf("timeouts are %+v", f)
	}
	if f := c.Errors["refused"]; f.N != 1 || !slices.Equal(f.At, [][2]uint64{{11, 1}}) {
		t.Errorf("refused are %+v", f)
	}
	if c.Unsent != 1 || !slices.Equal(c.UnsentAt, [][2]uint64{{5, 1}}) || len(c.Errors) != 2 {
		t.Errorf("unsent are %d at %v, among the errors: %v", c.Unsent, c.UnsentAt, c.Errors)
	}
}

func TestFailedOperationsNeverEnterAHistogram(t *testing.T) {
	for class := load.OK + 1; class < load.NumClasses; class++ {
		t.Run(class.String(), func(t *testing.T) {
			r := NewRecorder(0)
			w := r.Worker(ranking.Set, true, 0)
			w.Record(failed(class, 0, time.Second))
			c := only(t, r, time.Second)
			if c.OK != 0 || len(c.OKAt.N) != 0 || c.Service != "" || c.Latency != "" || c.ServiceMaxUS != 0 || c.ServiceSumUS != 0 || c.LatencyMaxUS != 0 {
				t.Errorf("a failure counts as a success: %+v", c)
			}
			if n := c.Unsent + c.Errors[class.String()].N; n != 1 {
				t.Errorf("counted %d times", n)
			}
		})
	}
}

func TestMeanAndMaximumAreExact(t *testing.T) {
	r := NewRecorder(0)
	w := r.Worker(ranking.Get, true, 100*time.Hour) // so that the series is short
	// Three significant digits and fractions of a microsecond, which a histogram does not keep.
	for _, d := range []time.Duration{1234567 * time.Nanosecond, 7654321 * time.Nanosecond, 100 * time.Hour} {
		w.Record(load.Outcome{Kind: ranking.Get, Due: 0, Taken: ms, Sent: 2 * ms, Done: 2*ms + d})
	}
	c := only(t, r, 0)
	if want := 1234.567 + 7654.321 + 100*3600e6; math.Abs(c.ServiceSumUS-want) > 0.001 || c.ServiceMaxUS != 100*3600e6 {
		t.Errorf("service: sum %v, max %v, want sum %v", c.ServiceSumUS, c.ServiceMaxUS, want)
	}
	if want := c.ServiceSumUS + 3*2000; math.Abs(c.LatencySumUS-want) > 0.001 || c.LatencyMaxUS != 100*3600e6+2000 {
		t.Errorf("latency: sum %v, max %v, want sum %v", c.LatencySumUS, c.LatencyMaxUS, want)
	}
	if n := histogramOf(t, c.Service).TotalCount(); n != 3 {
		t.Errorf("the histogram has %d, also the one beyond its range must count", n)
	}
}

func TestWarmupIsKeptApart(t *testing.T) {
	r := NewRecorder(time.Second)
	w := r.Worker(ranking.Set, false, 0)
	w.Record(ok(999*ms, 1500*ms)) // due in the warm-up, known after it
	w.Record(failed(load.Reset, 999*ms, 1500*ms))
	w.Record(ok(time.Second, 1001*ms))
	cells, _ := cut(t, r, 2*time.Second)
	if len(cells) != 2 || !cells[0].Warmup || cells[1].Warmup {
		t.Fatalf("cells are %+v", cells)
	}
	if cells[0].OK != 1 || cells[0].Errors["reset"].N != 1 || cells[1].OK != 1 || len(cells[1].Errors) != 0 {
		t.Errorf("warm-up has %d ok and %v, measured %d ok and %v", cells[0].OK, cells[0].Errors, cells[1].OK, cells[1].Errors)
	}
	if max := cells[1].ServiceMaxUS; max != 1000 {
		t.Errorf("the longest measured is %v µs, want 1000", max)
	}
}

func TestSlipIsOfOpenLoopsAlone(t *testing.T) {
	late := load.Outcome{Due: 10 * ms, Taken: 0, Sent: 11 * ms, Done: 12 * ms}
	waited := load.Outcome{Due: 10 * ms, Taken: 20 * ms, Sent: 20 * ms, Done: 22 * ms}
	for _, tt := range []struct {
		name string
		open bool
		o    load.Outcome
		want int64
	}{
		{"closed loop", false, late, 0},
		{"open loop, worker free", true, late, 1},
		{"open loop, no worker free", true, waited, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRecorder(0)
			r.Worker(ranking.Set, tt.open, 0).Record(tt.o)
			cells, slip := cut(t, r, time.Second)
			n := int64(0)
			if slip != nil {
				n = slip.TotalCount()
			}
			if n != tt.want {
				t.Errorf("%d slips, want %d", n, tt.want)
			}
			if (cells[0].Latency != "") != tt.open {
				t.Errorf("latency histogram is %q in a loop with open=%v", cells[0].Latency, tt.open)
			}
		})
	}
}

func TestSlipOfOneIntervalIsNotInTheNext(t *testing.T) {
	r := NewRecorder(0)
	w := r.Worker(ranking.Set, true, 0)
	for now := range 5 {
		w.Record(load.Outcome{Due: 10 * ms, Taken: 0, Sent: 11 * ms, Done: 12 * ms})
		if _, slip := cut(t, r, time.Duration(now)*time.Second); slip == nil || slip.TotalCount() != 1 {
			t.Errorf("interval %d has slip %v, want one", now, slip)
		}
	}
}

func TestLateOutcomesLandInTheBucketOfTheirAnswer(t *testing.T) {
	r := NewRecorder(0)
	w := r.Worker(ranking.Set, false, 0)
	for now := time.Second; now <= 10*time.Second; now += time.Second {
		cut(t, r, now)
		// Known up to a second before the cut, recorded after it.
		for _, before := range []time.Duration{0, 10 * ms, 500 * ms, 995 * ms} {
			w.Record(ok(now-before-ms, now-before))
		}
		// The cut just made is what comes before the next.
		c := only(t, r, now)
		for _, before := range []time.Duration{0, 10 * ms, 500 * ms, 995 * ms} {
			b := bucket(now - before)
			if i := b - c.OKAt.From; i >= uint64(len(c.OKAt.N)) || c.OKAt.N[i] != 1 {
				t.Errorf("%v before the cut at %v: bucket %d is missing in %+v", before, now, b, c.OKAt)
			}
		}
	}
}

func TestOutcomesLaterThanTheSlackAreStillCounted(t *testing.T) {
	r := NewRecorder(0)
	w := r.Worker(ranking.Set, false, 0)
	cut(t, r, 10*time.Second)
	w.Record(ok(0, ms))
	if c := only(t, r, 11*time.Second); c.OK != 1 || len(c.OKAt.N) != 1 || c.OKAt.N[0] != 1 || c.ServiceSumUS != 1000 {
		t.Errorf("cell is %+v", c)
	}
}

func TestWorkersThatBeganAtDifferentTimesKeepTheirBuckets(t *testing.T) {
	r := NewRecorder(0)
	late, early := r.Worker(ranking.Set, false, time.Minute), r.Worker(ranking.Set, false, 0)
	early.Record(ok(0, 5*ms))
	late.Record(ok(time.Minute, time.Minute+5*ms))
	c := only(t, r, time.Minute+ms)
	if c.OK != 2 || c.OKAt.From != 0 || len(c.OKAt.N) != 6001 || c.OKAt.N[0] != 1 || c.OKAt.N[6000] != 1 {
		t.Errorf("%d ok from bucket %d over %d", c.OK, c.OKAt.From, len(c.OKAt.N))
	}
}

func TestNothingRecordedIsNoCell(t *testing.T) {
	r := NewRecorder(0)
	w := r.Worker(ranking.Set, true, 0)
	for now := range 3 {
		if cells, slip := cut(t, r, time.Duration(now)*time.Second); len(cells) != 0 || slip != nil {
			t.Errorf("cells %+v, slip %v", cells, slip)
		}
	}
	w.Record(ok(0, ms))
	only(t, r, time.Second)
	if cells, _ := cut(t, r, time.Second); len(cells) != 0 {
		t.Errorf("the outcome came twice: %+v", cells)
	}
}

// TestRecordAllocatesNothingAfterACut: each run is a second of outcomes on a
// recorder that has just been cut, as every second of a real run is.
func TestRecordAllocatesNothingAfterACut(t *testing.T) {
	const runs = 5
	second := func(w load.Recorder, from time.Duration) {
		for at := from; at < from+time.Second; at += 2 * ms {
			w.Record(ok(at, at+ms))
		}
	}
	for _, open := range []bool{false, true} {
		var workers []load.Recorder
		for range runs + 1 { // AllocsPerRun makes one run more
			r := NewRecorder(0)
			w := r.Worker(ranking.Set, open, 0)
			workers = append(workers, w)
			for now := time.Duration(0); now < 4*time.Second; now += time.Second {
				second(w, now)
				cut(t, r, now+time.Second)
			}
		}
		if allocs := testing.AllocsPerRun(runs, func() {
			second(workers[0], 4*time.Second)
			workers = workers[1:]
		}); allocs != 0 {
			t.Errorf("open=%v: 500 outcomes allocate %v times", open, allocs)
		}
	}
}

func TestShardsStaySmallInALongRun(t *testing.T) {
	r := NewRecorder(0)
	w := r.Worker(ranking.Set, false, 0)
	for now := time.Second; now < time.Minute; now += time.Second {
		w.Record(ok(now-ms, now-ms))
		if c := only(t, r, now); c.OK != 1 {
			t.Fatalf("%d ok at %v", c.OK, now)
		}
	}
	for _, f := range w.(*shard).spare {
		if f != nil && cap(f.okAt) > 2*initialBuckets {
			t.Errorf("after a minute a shard has %d buckets for each interval", cap(f.okAt))
		}
	}
}

// totals are the sums of outcomes, or of cells.
type totals struct {
	ok, unsent uint64
	errors     map[string]uint64
	okAt       map[uint64]uint64
	failedAt   map[string]uint64 // class and bucket
	services   []int64           // as a histogram: count of each value
	latencies  []int64
	serviceSum float64
	serviceMax float64
}

func newTotals() *totals {
	return &totals{errors: map[string]uint64{}, okAt: map[uint64]uint64{}, failedAt: map[string]uint64{}}
}

type sumKey struct {
	kind string
	warm bool
}

// sums adds up cells as a reader of a run's folder does.
type sums map[sumKey]*totals

func (s sums) of(kind string, warm bool) *totals {
	k := sumKey{kind, warm}
	if s[k] == nil {
		s[k] = newTotals()
	}
	return s[k]
}

func at(class string, bucket uint64) string {
	return class + "@" + time.Duration(bucket*10*uint64(ms)).String()
}

func (s sums) addCells(t *testing.T, cells []result.Cell) {
	for _, c := range cells {
		x := s.of(c.Op, c.Warmup)
		x.ok += c.OK
		x.unsent += c.Unsent
		for _, p := range c.UnsentAt {
			x.failedAt[at("unsent", p[0])] += p[1]
		}
		for class, f := range c.Errors {
			x.errors[class] += f.N
			for _, p := range f.At {
				x.failedAt[at(class, p[0])] += p[1]
			}
		}
		for i, n := range c.OKAt.N {
			if n > 0 {
				x.okAt[c.OKAt.From+uint64(i)] += uint64(n)
			}
		}
		x.services = addCounts(x.services, histogramOf(t, c.Service))
		if c.Latency != "" {
			x.latencies = addCounts(x.latencies, histogramOf(t, c.Latency))
		}
		x.serviceSum += c.ServiceSumUS
		x.serviceMax = max(x.serviceMax, c.ServiceMaxUS)
	}
}

func addCounts(into []int64, h *hdr.Histogram) []int64 {
	counts := h.Export().Counts
	for len(into) < len(counts) {
		into = append(into, 0)
	}
	for i, n := range counts {
		into[i] += n
	}
	return into
}

// addOutcomes is the model: no shard, no cut.
func (s sums) addOutcomes(all []load.Outcome, measured time.Duration, open map[ranking.Kind]bool) {
	service, latency := map[sumKey]*hdr.Histogram{}, map[sumKey]*hdr.Histogram{}
	for _, o := range all {
		k := sumKey{o.Kind.String(), o.Due < measured}
		x := s.of(k.kind, k.warm)
		if service[k] == nil {
			service[k], latency[k] = newHistogram(), newHistogram()
		}
		due := uint64(o.Due / (10 * ms))
		switch o.Err {
		case load.OK:
			x.ok++
			x.okAt[uint64(o.Done/(10*ms))]++
			us := float64(o.Done-o.Sent) / 1000
			x.serviceSum += us
			x.serviceMax = max(x.serviceMax, us)
			_ = service[k].RecordValue((o.Done - o.Sent).Microseconds())
			_ = latency[k].RecordValue(o.Latency().Microseconds())
		case load.Unsent:
			x.unsent++
			x.failedAt[at("unsent", due)]++
		default:
			x.errors[o.Err.String()]++
			x.failedAt[at(o.Err.String(), due)]++
		}
	}
	for k, x := range s {
		x.services = addCounts(nil, service[k])
		if kind, _ := ranking.ParseKind(k.kind); open[kind] {
			x.latencies = addCounts(nil, latency[k])
		}
	}
}

// randomOutcomes are those of one worker, in the order in which they are known.
func randomOutcomes(kind ranking.Kind, worker uint64, n int) []load.Outcome {
	s, now, out := ranking.NewStream(worker, uint64(kind)), time.Duration(0), []load.Outcome{}
	for range n {
		o := load.Outcome{Kind: kind, Due: now}
		o.Taken = max(0, now+time.Duration(s.Below(uint64(4*ms)))-2*ms)
		o.Sent = max(o.Taken, o.Due) + time.Duration(s.Below(uint64(ms)))
		o.Done = o.Sent + time.Duration(s.Below(1<<(10+s.Below(14))))
		if s.Below(4) == 0 {
			o.Err = load.Class(1 + s.Below(load.NumClasses-1))
		}
		now = o.Done
		out = append(out, o)
	}
	return out
}

// TestSumOfAllCutsIsWhatWasRecorded holds the recorder to a model without
// shards and cuts, with workers that record while cuts are made.
func TestSumOfAllCutsIsWhatWasRecorded(t *testing.T) {
	const workers, perWorker, measured = 3, 2000, 200 * ms
	open := map[ranking.Kind]bool{ranking.Get: true, ranking.FindByOrder: true}
	r, want, got := NewRecorder(measured), sums{}, sums{}
	// A worker records a part of its outcomes when a gate opens; the cut that
	// follows falls between two parts of some workers and into a part of others.
	gates, parts := make([]chan struct{}, 8), make([]sync.WaitGroup, 8)
	for i := range gates {
		gates[i] = make(chan struct{})
		parts[i].Add(workers * ranking.NumKinds)
	}
	var all []load.Outcome
	var recording sync.WaitGroup
	for _, kind := range ranking.Kinds() {
		for i := range workers {
			outcomes := randomOutcomes(kind, uint64(i), perWorker)
			all = append(all, outcomes...)
			w := r.Worker(kind, open[kind], 0)
			recording.Go(func() {
				for i, part := range slices.Collect(slices.Chunk(outcomes, perWorker/len(gates))) {
					<-gates[i]
					for _, o := range part {
						w.Record(o)
					}
					parts[i].Done()
				}
			})
		}
	}
	want.addOutcomes(all, measured, open)
	for i, gate := range gates {
		close(gate)
		if i > 0 {
			parts[i-1].Wait()
		}
		// At 0: the outcomes know nothing of the test's clock, and none may be too late.
		cells, _ := cut(t, r, 0)
		got.addCells(t, cells)
	}
	recording.Wait()
	cells, _ := cut(t, r, 0)
	got.addCells(t, cells)
	if len(want) != 2*ranking.NumKinds || len(all) != workers*perWorker*ranking.NumKinds {
		t.Fatalf("the model has %d sums of %d outcomes", len(want), len(all))
	}
	for k, w := range want {
		w.compare(t, k, got.of(k.kind, k.warm))
	}
}

func (x *totals) compare(t *testing.T, k sumKey, got *totals) {
	t.Helper()
	if got.ok != x.ok || got.unsent != x.unsent || !maps.Equal(got.errors, x.errors) {
		t.Errorf("%v: got %d ok, %d unsent, errors %v; want %d, %d, %v", k, got.ok, got.unsent, got.errors, x.ok, x.unsent, x.errors)
	}
	if !maps.Equal(got.okAt, x.okAt) || !maps.Equal(got.failedAt, x.failedAt) {
		t.Errorf("%v: buckets differ", k)
	}
	if !slices.Equal(got.services, x.services) || !slices.Equal(got.latencies, x.latencies) {
		t.Errorf("%v: histograms differ", k)
	}
	if math.Abs(got.serviceSum-x.serviceSum) > 1e-6*x.serviceSum || got.serviceMax != x.serviceMax {
		t.Errorf("%v: sum %v and max %v, want %v and %v", k, got.serviceSum, got.serviceMax, x.serviceSum, x.serviceMax)
	}
}
