// Package expose shows a run while it runs: as Prometheus metrics over HTTP. It
// knows intervals and nothing of how they came about, and it keeps nothing that
// a report is made from.
//
//  1. Listen binds the address, so that an address in use is told before any
//     load starts. Serve answers on it until its context ends.
//  2. Interval takes each interval as it is cut and adds it up: operations.go
//     the outcomes, latencies and outages, nodes.go what the servers and the
//     driver say of each node, client.go what the tool sees of itself.
//  3. A scrape reads the sums. All of the run counts, warm-up included: a
//     Prometheus query chooses its own window.
//
// Latencies are histograms in both of Prometheus's forms at once: classic
// buckets for every server, native (exponential) ones for those that ask for
// them. Both are made from the run's own HdrHistograms.
package expose

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/rankbench/rankbench/internal/result"
)

// defaultOutageThreshold is the time between two intervals: what a gauge that
// is set once an interval can tell.
const defaultOutageThreshold = time.Second

// Info is what is known of a run before it begins.
type Info struct {
	Version, Scenario string
	// OutageThreshold is the shortest gap between successes that is an outage; default 1 s.
	OutageThreshold time.Duration
	// Phases name the operations that run in each phase, so that one that never
	// completes is seen to be out, too, and counters are there before they count.
	// Without them an operation is known from its first outcome in the phase. Their
	// lengths say when the load will be over.
	Phases []result.RunPhase
}

// Exporter holds the sums. It is safe for concurrent use.
type Exporter struct {
	registry   *prometheus.Registry
	operations *operations
	nodes      *nodes
	client     *client
}

// New returns an Exporter without any interval yet, with a registry of its own
// that also has Go's and the process's collectors.
func New(info Info) *Exporter {
	if info.OutageThreshold <= 0 {
		info.OutageThreshold = defaultOutageThreshold
	}
	begun := time.Now()
	e := &Exporter{
		registry:   prometheus.NewRegistry(),
		operations: newOperations(info, begun),
		nodes:      newNodes(),
		client:     newClient(begun),
	}
	e.registry.MustRegister(
		e.operations, e.nodes, e.client, runInfo(info),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return e
}

// runInfo is a constant 1 whose labels say what runs.
func runInfo(info Info) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "rankbench_run_info",
		Help:        "Always 1; says what runs.",
		ConstLabels: prometheus.Labels{"version": valid(info.Version), "scenario": valid(info.Scenario)},
	})
	g.Set(1)
	return g
}

// Interval adds an interval. They must come in the order of their time.
func (e *Exporter) Interval(iv result.Interval) {
	e.operations.add(iv)
	e.nodes.add(iv.Nodes)
	e.client.add(iv.Self)
}

// Registry returns the registry that is served.
func (e *Exporter) Registry() *prometheus.Registry { return e.registry }
