package expose_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/expose"
	"github.com/rankbench/rankbench/internal/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves e until the test ends and returns its address, http://host:port.
func serve(t *testing.T, e *expose.Exporter) string {
	t.Helper()
	ln, err := expose.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- e.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return "http://" + ln.Addr().String()
}

func get(t *testing.T, url, accept string) (body []byte, header http.Header, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return body, res.Header, res.StatusCode
}

// scrape reads /metrics as text, as any Prometheus does.
func scrape(t *testing.T, base string) map[string]*dto.MetricFamily {
	t.Helper()
	body, _, status := get(t, base+"/metrics", "text/plain")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// scrapeProto reads /metrics in the form that carries native histograms.
func scrapeProto(t *testing.T, base string) map[string]*dto.MetricFamily {
	t.Helper()
	body, header, _ := get(t, base+"/metrics", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	if kind, _, err := mime.ParseMediaType(header.Get("Content-Type")); err != nil || kind != "application/vnd.google.protobuf" {
		t.Fatalf("content type %q", header.Get("Content-Type"))
	}
	families := map[string]*dto.MetricFamily{}
	for dec := expfmt.NewDecoder(bytes.NewReader(body), expfmt.ResponseFormat(header)); ; {
		var f dto.MetricFamily
		switch err := dec.Decode(&f); {
		case errors.Is(err, io.EOF):
			return families
		case err != nil:
			t.Fatal(err)
		}
		families[f.GetName()] = &f
	}
}

// series returns the values of a counter or gauge by their labels, as key=value,key=value.
func series(t *testing.T, families map[string]*dto.MetricFamily, name string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, m := range families[name].GetMetric() {
		values[labels(m)] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
	}
	return values
}

// counted is what became of operations, without the classes that have none.
func counted(t *testing.T, families map[string]*dto.MetricFamily) map[string]float64 {
	t.Helper()
	values := series(t, families, "rankbench_operations_total")
	maps.DeleteFunc(values, func(_ string, n float64) bool { return n == 0 })
	return values
}

func expectCounted(t *testing.T, families map[string]*dto.MetricFamily, want map[string]float64) {
	t.Helper()
	if got := counted(t, families); !maps.Equal(got, want) {
		t.Errorf("rankbench_operations_total:\n got %v\nwant %v", got, want)
	}
}

func labels(m *dto.Metric) string {
	var pairs []string
	for _, l := range m.GetLabel() {
		pairs = append(pairs, l.GetName()+"="+l.GetValue())
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

func expectSeries(t *testing.T, families map[string]*dto.MetricFamily, name string, want map[string]float64) {
	t.Helper()
	if got := series(t, families, name); !maps.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", name, got, want)
	}
}

// histogram encodes values, microseconds, as the recorder does, and sums them.
func histogram(t *testing.T, values ...int64) (encoded string, sum float64) {
	t.Helper()
	h := hdr.New(1, (24 * time.Hour).Microseconds(), 2)
	for _, v := range values {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
		sum += float64(v)
	}
	b, err := h.Encode(hdr.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), sum
}

func cell(t *testing.T, op string, at uint64, values ...int64) result.Cell {
	t.Helper()
	c := result.Cell{Op: op, OK: uint64(len(values)), OKAt: result.Series{From: at, N: []uint32{uint32(len(values))}}}
	c.Service, c.ServiceSumUS = histogram(t, values...)
	return c
}

func TestOperationsAreSummedByWhatBecameOfThemWarmupIncluded(t *testing.T) {
	e := expose.New(expose.Info{})
	warm := cell(t, "set", 1, 100, 200)
	warm.Warmup = true
	measured := cell(t, "set", 50, 300)
	measured.Unsent = 4
	measured.Errors = map[string]result.Failure{"refused": {N: 7}, "timeout": {N: 1}}
	e.Interval(result.Interval{FromS: 0, ToS: 1, Cells: []result.Cell{warm, measured}})
	e.Interval(result.Interval{FromS: 1, ToS: 2, Cells: []result.Cell{cell(t, "get", 150, 500), {Op: "set", Errors: map[string]result.Failure{"refused": {N: 5}}}}})
	expectCounted(t, scrape(t, serve(t, e)), map[string]float64{
		"class=ok,op=set": 3, "class=unsent,op=set": 4, "class=refused,op=set": 12, "class=timeout,op=set": 1,
		"class=ok,op=get": 1,
	})
}

func TestHistogramsHoldEverySuccessInBothForms(t *testing.T) {
	e := expose.New(expose.Info{})
	values := []int64{1, 90, 100, 101, 999, 1000, 40_000, 2_000_000, 70_000_000}
	for i, v := range values { // an interval each: what is served is their sum
		e.Interval(result.Interval{FromS: float64(i), ToS: float64(i + 1), Cells: []result.Cell{cell(t, "set", uint64(100*i), v)}})
	}
	base := serve(t, e)
	classic := scrape(t, base)["rankbench_operation_service_seconds"].GetMetric()[0].GetHistogram()
	native := scrapeProto(t, base)["rankbench_operation_service_seconds"].GetMetric()[0].GetHistogram()
	for form, h := range map[string]*dto.Histogram{"text": classic, "protobuf": native} {
		if h.GetSampleCount() != 9 || math.Abs(h.GetSampleSum()-72.042291) > 1e-9 {
			t.Errorf("%s: %d values, sum %v; want 9 and 72.042291", form, h.GetSampleCount(), h.GetSampleSum())
		}
		checkClassic(t, form, h, map[float64]uint64{.0001: 3, .00025: 4, .001: 5, .0025: 6, .025: 6, .05: 7, 1: 7, 2.5: 8, 60: 8})
	}
	checkNative(t, native, values)
}

func checkClassic(t *testing.T, form string, h *dto.Histogram, want map[float64]uint64) {
	t.Helper()
	found := 0
	for _, b := range h.GetBucket() {
		n, ok := want[b.GetUpperBound()]
		if !ok {
			continue
		}
		found++
		if b.GetCumulativeCount() != n {
			t.Errorf("%s: %d values up to %v s, want %d", form, b.GetCumulativeCount(), b.GetUpperBound(), n)
		}
	}
	if found != len(want) {
		t.Errorf("%s: %d of %d bounds found in %v", form, found, len(want), h.GetBucket())
	}
}

// checkNative checks that each value, microseconds, is alone counted in a native bucket that holds it.
func checkNative(t *testing.T, h *dto.Histogram, values []int64) {
	t.Helper()
	buckets := nativeBuckets(h)
	var total int64
	for _, n := range buckets {
		total += n
	}
	if total != int64(len(values)) || h.GetSchema() != 3 || h.GetZeroCount() != 0 {
		t.Errorf("%d values in native buckets of schema %d, want %d", total, h.GetSchema(), len(values))
	}
	for _, v := range values {
		upper := int(math.Ceil(math.Log2(float64(v)*1e-6) * 8))
		// Up to 1 % above the value, which may be the next bucket.
		if buckets[upper]+buckets[upper+1] == 0 {
			t.Errorf("%d µs is in none of the native buckets %v", v, buckets)
		}
	}
}

// nativeBuckets decodes spans and deltas: https://prometheus.io/docs/specs/native_histograms/.
func nativeBuckets(h *dto.Histogram) map[int]int64 {
	buckets := map[int]int64{}
	var index, i int
	var n int64
	for _, span := range h.GetPositiveSpan() {
		index += int(span.GetOffset())
		for range span.GetLength() {
			n += h.GetPositiveDelta()[i]
			buckets[index] = n
			index, i = index+1, i+1
		}
	}
	return buckets
}

func TestZeroMicrosecondsAreInTheZeroBucket(t *testing.T) {
	e := expose.New(expose.Info{})
	e.Interval(result.Interval{ToS: 1, Cells: []result.Cell{cell(t, "set", 0, 0, 0, 5)}})
	h := scrapeProto(t, serve(t, e))["rankbench_operation_latency_seconds"].GetMetric()[0].GetHistogram()
	if h.GetZeroCount() != 2 || h.GetSampleCount() != 3 {
		t.Errorf("%d zeros of %d, want 2 of 3", h.GetZeroCount(), h.GetSampleCount())
	}
}

func TestLatencyIsServiceTimeUnlessItIsApart(t *testing.T) {
	e := expose.New(expose.Info{})
	open := cell(t, "get", 0, 1000, 1000)
	open.Latency, open.LatencySumUS = histogram(t, 9_000_000, 1000)
	e.Interval(result.Interval{ToS: 1, Cells: []result.Cell{cell(t, "set", 0, 1000, 3000), open}})
	families := scrape(t, serve(t, e))
	for name, want := range map[string]map[string]float64{
		"rankbench_operation_latency_seconds": {"op=set": .004, "op=get": 9.001},
		"rankbench_operation_service_seconds": {"op=set": .004, "op=get": .002},
	} {
		for _, m := range families[name].GetMetric() {
			if got := m.GetHistogram(); math.Abs(got.GetSampleSum()-want[labels(m)]) > 1e-9 || got.GetSampleCount() != 2 {
				t.Errorf("%s{%s}: sum %v of %d, want %v of 2", name, labels(m), got.GetSampleSum(), got.GetSampleCount(), want[labels(m)])
			}
		}
	}
}

func TestHistogramThatCannotBeReadIsCountedAndHidesNothingElse(t *testing.T) {
	e := expose.New(expose.Info{})
	bad := cell(t, "set", 0, 1000)
	bad.Service = "not a histogram"
	e.Interval(result.Interval{ToS: 1, Cells: []result.Cell{bad, cell(t, "get", 0, 1000)}, Self: &result.SelfSample{Slip: "neither"}})
	families := scrape(t, serve(t, e))
	expectSeries(t, families, "rankbench_unreadable_histograms_total", map[string]float64{"": 2}) // service, and latency from it
	expectSeries(t, families, "rankbench_client_unreadable_histograms_total", map[string]float64{"": 1})
	expectCounted(t, families, map[string]float64{"class=ok,op=set": 1, "class=ok,op=get": 1})
}

// interval is a second of phase 0 with the given cells.
func interval(from float64, cells ...result.Cell) result.Interval {
	return result.Interval{FromS: from, ToS: from + 1, Cells: cells}
}

func TestOutageIsOnFromItsThresholdToTheNextSuccess(t *testing.T) {
	e := expose.New(expose.Info{OutageThreshold: 1500 * time.Millisecond})
	base := serve(t, e)
	failing := result.Cell{Op: "set", Errors: map[string]result.Failure{"refused": {N: 9}}}
	for _, step := range []struct {
		name    string
		iv      result.Interval
		out     float64
		seconds float64
	}{
		{"success at 0.50 s", interval(0, cell(t, "set", 49, 100)), 0, 0},
		{"1.5 s without", interval(1, failing), 0, 0},
		{"2.5 s without", interval(2, failing), 1, 2.5},
		{"3.5 s without, no outcome at all", interval(3), 1, 3.5},
		{"success at 4.20 s", interval(4, cell(t, "set", 420, 100)), 0, 3.7},
		{"0.8 + 1 s without", interval(5, failing), 1, 3.7 + 1.79},
		{"phase over", result.Interval{FromS: 6, ToS: 7, Mark: &result.PhaseBoundary{End: true}}, 0, 3.7 + 2.79},
		{"straggler of the phase", interval(7, cell(t, "set", 705, 100)), 0, 3.7 + 2.79},
		{"between phases", result.Interval{FromS: 8, ToS: 11, Phase: -1}, 0, 3.7 + 2.79},
		{"next phase", result.Interval{FromS: 11, ToS: 12, Phase: 1, Cells: []result.Cell{failing}}, 0, 3.7 + 2.79},
		{"next phase begins with an outage", result.Interval{FromS: 12, ToS: 13, Phase: 1}, 1, 3.7 + 2.79 + 2},
	} {
		e.Interval(step.iv)
		families := scrape(t, base)
		t.Run(step.name, func(t *testing.T) {
			expectSeries(t, families, "rankbench_outage", map[string]float64{"op=set": step.out})
			if got := series(t, families, "rankbench_outage_seconds_total")["op=set"]; math.Abs(got-step.seconds) > 1e-6 {
				t.Errorf("%v s of outages, want %v", got, step.seconds)
			}
		})
	}
}

func TestOutageShorterThanTheIntervalIsInTheTotal(t *testing.T) {
	e := expose.New(expose.Info{OutageThreshold: 200 * time.Millisecond})
	c := cell(t, "set", 0, 100)
	c.OKAt = result.Series{From: 0, N: make([]uint32, 100)}
	for i := range c.OKAt.N {
		if i < 30 || i >= 80 {
			c.OKAt.N[i] = 5
		}
	}
	e.Interval(interval(0, c))
	families := scrape(t, serve(t, e))
	expectSeries(t, families, "rankbench_outage", map[string]float64{"op=set": 0})
	if got := series(t, families, "rankbench_outage_seconds_total")["op=set"]; math.Abs(got-.5) > 1e-9 {
		t.Errorf("%v s of outages, want 0.5", got)
	}
}

func TestOperationOfThePhaseThatNeverCompletesIsOut(t *testing.T) {
	e := expose.New(expose.Info{OutageThreshold: time.Second, Phases: []result.RunPhase{{Name: "mixed", Ops: []string{"set", "get"}}}})
	e.Interval(result.Interval{FromS: 0, ToS: 5, Phase: 0, Mark: &result.PhaseBoundary{Begin: true}})
	e.Interval(interval(5, cell(t, "get", 590, 100)))
	e.Interval(interval(6, cell(t, "get", 690, 100)))
	families := scrape(t, serve(t, e))
	expectSeries(t, families, "rankbench_outage", map[string]float64{"op=set": 1, "op=get": 0})
	expectSeries(t, families, "rankbench_outage_seconds_total", map[string]float64{"op=set": 2, "op=get": 0})
	expectSeries(t, families, "rankbench_phase_info", map[string]float64{"name=mixed,phase=0": 1})
}

func nodeSamples() []result.NodeSample {
	return []result.NodeSample{
		{
			ID: "lb-0001-001", Addr: "10.0.0.1:6379", Up: true, Role: "primary", CPUSeconds: 12.5, EngineCPUSeconds: 10.25, NetInBytes: 1000, NetOutBytes: 2000,
			UsedMemory: 1 << 30, Commands: map[string]uint64{"zadd": 7, "client|setname": 1, "ping": 0}, Driver: &result.DriverSample{Attempts: 9, Errors: 2, Connects: 3},
		},
		{ID: "lb-0001-002", Addr: "10.0.0.2:6379", Up: true, Role: "replica", CPUSeconds: 3, LagBytes: 640, Link: "down", Commands: map[string]uint64{"zscore": 5}},
		{ID: "lb-0001-003", Addr: "10.0.0.3:6379", Error: "timeout", Driver: &result.DriverSample{Attempts: 4, Errors: 4, Connects: 1}},
	}
}

func TestNodesShowWhatTheServersAndTheDriverSay(t *testing.T) {
	e := expose.New(expose.Info{})
	e.Interval(result.Interval{ToS: 1, Nodes: nodeSamples()})
	e.Interval(result.Interval{FromS: 1, ToS: 2}) // without samples the last ones stay
	families := scrape(t, serve(t, e))
	const a, b, c = "addr=10.0.0.1:6379,node=lb-0001-001", "addr=10.0.0.2:6379,node=lb-0001-002", "addr=10.0.0.3:6379,node=lb-0001-003"
	for name, want := range map[string]map[string]float64{
		"up":                           {a: 1, b: 1, c: 0},
		"role":                         {a + ",role=primary": 1, a + ",role=replica": 0, b + ",role=primary": 0, b + ",role=replica": 1},
		"cpu_seconds_total":            {a: 12.5, b: 3},
		"engine_cpu_seconds_total":     {a: 10.25},
		"network_receive_bytes_total":  {a: 1000, b: 0},
		"network_transmit_bytes_total": {a: 2000, b: 0},
		"used_memory_bytes":            {a: 1 << 30, b: 0},
		"replication_lag_bytes":        {b: 640},
		"replica_link_up":              {b: 0},
		"driver_attempts_total":        {a: 9, c: 4},
		"driver_errors_total":          {a: 2, c: 4},
		"driver_connects_total":        {a: 3, c: 1},
		"commands_total": {
			"addr=10.0.0.1:6379,command=zadd,node=lb-0001-001": 7, "addr=10.0.0.1:6379,command=client|setname,node=lb-0001-001": 1,
			"addr=10.0.0.2:6379,command=zscore,node=lb-0001-002": 5,
		},
	} {
		expectSeries(t, families, "rankbench_node_"+name, want)
	}
}

func TestOfAnEndpointThereAreTheDriversCountsAlone(t *testing.T) {
	e := expose.New(expose.Info{})
	driver := &result.DriverSample{Attempts: 5, Errors: 1, Connects: 2}
	e.Interval(result.Interval{ToS: 1, Nodes: []result.NodeSample{{ID: "lb.test:6379", Addr: "lb.test:6379", Up: true, Role: "endpoint", Driver: driver}}})
	got := map[string]float64{}
	for name, f := range scrape(t, serve(t, e)) {
		if strings.HasPrefix(name, "rankbench_node_") {
			got[name] = f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	want := map[string]float64{
		"rankbench_node_driver_attempts_total": 5, "rankbench_node_driver_errors_total": 1, "rankbench_node_driver_connects_total": 2,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestNodeThatIsGoneFromTheSamplesIsGone(t *testing.T) {
	e := expose.New(expose.Info{})
	e.Interval(result.Interval{ToS: 1, Nodes: nodeSamples()})
	e.Interval(result.Interval{FromS: 1, ToS: 2, Nodes: nodeSamples()[:1]})
	expectSeries(t, scrape(t, serve(t, e)), "rankbench_node_up", map[string]float64{"addr=10.0.0.1:6379,node=lb-0001-001": 1})
}

func TestOfSeveralSamplesOfANodeTheLastIsShown(t *testing.T) {
	e := expose.New(expose.Info{})
	later := nodeSamples()[0]
	later.UsedMemory = 5
	e.Interval(result.Interval{ToS: 1, Nodes: append(nodeSamples(), later)})
	if got := series(t, scrape(t, serve(t, e)), "rankbench_node_used_memory_bytes")["addr=10.0.0.1:6379,node=lb-0001-001"]; got != 5 {
		t.Errorf("got %v, want 5", got)
	}
}

func TestClientShowsWhatTheToolSeesOfItself(t *testing.T) {
	e := expose.New(expose.Info{Version: "v1.2", Scenario: "failover"})
	slip, _ := histogram(t, 1000, 3000)
	self := result.SelfSample{CPUSeconds: 4.5, HostCPUPct: 75, RSSBytes: 1 << 20, PoolWaits: 6, PoolWaitS: .25, PoolTimeout: 2, Slip: slip}
	e.Interval(result.Interval{ToS: 1, Self: &self})
	e.Interval(result.Interval{FromS: 1, ToS: 2, Self: &self})
	families := scrape(t, serve(t, e))
	for name, want := range map[string]float64{
		"cpu_seconds_total": 4.5, "host_cpu_ratio": .75, "resident_memory_bytes": 1 << 20,
		"pool_waits_total": 6, "pool_wait_seconds_total": .25, "pool_timeouts_total": 2,
	} {
		expectSeries(t, families, "rankbench_client_"+name, map[string]float64{"": want})
	}
	expectSeries(t, families, "rankbench_run_info", map[string]float64{"scenario=failover,version=v1.2": 1})
	h := families["rankbench_schedule_slip_seconds"].GetMetric()[0].GetHistogram()
	if h.GetSampleCount() != 4 || math.Abs(h.GetSampleSum()-.008) > .0001 {
		t.Errorf("slip: sum %v of %d, want 0.008 of 4", h.GetSampleSum(), h.GetSampleCount())
	}
	for _, name := range []string{"go_goroutines", "process_cpu_seconds_total"} {
		if families[name] == nil {
			t.Errorf("no %s", name)
		}
	}
}

func TestUnknownHostCPUIsNotShown(t *testing.T) {
	e := expose.New(expose.Info{})
	e.Interval(result.Interval{ToS: 1, Self: &result.SelfSample{HostCPUPct: -1}})
	if f := scrape(t, serve(t, e))["rankbench_client_host_cpu_ratio"]; f != nil {
		t.Errorf("got %v", f)
	}
}

// TestMetricsFollowPrometheusConventions asks promlint about our own names; Go's and the process's are not ours.
func TestMetricsFollowPrometheusConventions(t *testing.T) {
	e := expose.New(expose.Info{Version: "v", Scenario: "s"})
	c := cell(t, "set", 1, 100)
	c.Errors = map[string]result.Failure{"refused": {N: 1}}
	e.Interval(result.Interval{ToS: 1, Cells: []result.Cell{c}, Nodes: nodeSamples(), Self: &result.SelfSample{HostCPUPct: 1}})
	families, err := e.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var ours []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "rankbench_") {
			ours = append(ours, f.GetName())
		}
	}
	problems, err := testutil.GatherAndLint(e.Registry(), ours...)
	if err != nil || len(problems) > 0 || len(ours) < 25 {
		t.Errorf("%d metrics: %v %v", len(ours), problems, err)
	}
}

func TestTextThatIsNotUTF8DoesNotBreakTheScrape(t *testing.T) {
	e := expose.New(expose.Info{Scenario: "\xff"})
	n := nodeSamples()[0]
	n.Commands = map[string]uint64{"z\xff": 1}
	e.Interval(result.Interval{ToS: 1, Nodes: []result.NodeSample{n}, Cells: []result.Cell{cell(t, "s\xff", 1, 1)}})
	if got := series(t, scrape(t, serve(t, e)), "rankbench_node_commands_total"); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestIndexAndHealthAreServedAndNothingElse(t *testing.T) {
	base := serve(t, expose.New(expose.Info{}))
	for path, want := range map[string]string{"/": "rankbench: metrics are at /metrics\n", "/healthz": "ok\n"} {
		if body, _, status := get(t, base+path, ""); string(body) != want || status != http.StatusOK {
			t.Errorf("%s: %d %q, want %q", path, status, body, want)
		}
	}
	if _, _, status := get(t, base+"/debug", ""); status != http.StatusNotFound {
		t.Errorf("/debug: %d", status)
	}
}

func TestAddressInUseIsToldBeforeAnythingIsServed(t *testing.T) {
	ln, err := expose.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	addr := ln.Addr().String()
	_, err = expose.Listen(addr)
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "listen for metrics on "+addr) {
		t.Errorf("got %v, want the address %s", err, addr)
	}
}

func TestServeEndsWithItsContextAndFreesTheAddress(t *testing.T) {
	ln, err := expose.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := expose.New(expose.Info{}).Serve(ctx, ln); err != nil {
		t.Errorf("serve: %v", err)
	}
	again, err := expose.Listen(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

func TestListenerThatFailsIsAnError(t *testing.T) {
	ln, err := expose.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = ln.Close()
	if err := expose.New(expose.Info{}).Serve(t.Context(), ln); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestScrapesAndIntervalsMayCoincide(t *testing.T) {
	e := expose.New(expose.Info{})
	base := serve(t, e)
	c := cell(t, "set", 0, 100, 200)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 200 {
			e.Interval(result.Interval{FromS: float64(i), ToS: float64(i + 1), Cells: []result.Cell{c}, Nodes: nodeSamples(), Self: &result.SelfSample{}})
		}
	})
	for range 20 {
		checkConsistent(t, scrape(t, base))
	}
	wg.Wait()
	expectCounted(t, scrape(t, base), map[string]float64{"class=ok,op=set": 400})
}

// checkConsistent checks that one scrape's successes are all in its histogram.
func checkConsistent(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	ok := series(t, families, "rankbench_operations_total")["class=ok,op=set"]
	for _, m := range families["rankbench_operation_latency_seconds"].GetMetric() {
		if n := m.GetHistogram().GetSampleCount(); float64(n) != ok {
			t.Errorf("%v successes, %d in the histogram", ok, n)
		}
	}
}
