package expose

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rankbench/rankbench/internal/result"
)

// operations sums what became of the operations, by kind.
type operations struct {
	total, latency, service *prometheus.Desc
	out, outSeconds         *prometheus.Desc
	phaseInfo, unreadable   *prometheus.Desc
	plannedEnd              *prometheus.Desc
	begun                   time.Time

	mu     sync.Mutex
	byOp   map[string]*operation
	gaps   *gaps
	broken uint64 // histograms that could not be decoded
	ends   time.Time
}

// operation is the sums of one kind.
type operation struct {
	byClass          map[string]uint64 // ok, unsent and the error classes
	latency, service *distribution
}

// classes are what can become of an operation. Each is shown from the start, as
// 0: of a counter that begins with its first error, rate() and increase() leave
// out that error.
func classes() []string {
	return []string{
		"ok", "readonly", "moved", "clusterdown", "loading", "refused", "reset", "timeout",
		"pool_timeout", "dns", "tls", "auth", "oom", "missing", "unsent", "other",
	}
}

func newOperation() *operation {
	op := &operation{byClass: map[string]uint64{}, latency: newDistribution(), service: newDistribution()}
	for _, class := range classes() {
		op.byClass[class] = 0
	}
	return op
}

func newOperations(info Info, begun time.Time) *operations {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("rankbench_"+name, help, labels, nil)
	}
	o := &operations{
		total:      desc("operations_total", "Operations that came due, by what became of them: ok, unsent, or the class of the error.", "op", "class"),
		latency:    desc("operation_latency_seconds", "Latency of successes: from due where no worker was free when due, else from sent.", "op"),
		service:    desc("operation_service_seconds", "Service time of successes: from sent.", "op"),
		out:        desc("outage", "Whether there was no success for longer than the outage threshold while operations of the kind run.", "op"),
		outSeconds: desc("outage_seconds_total", "Time in gaps between successes that are longer than the outage threshold.", "op"),
		phaseInfo:  desc("phase_info", "1 for the phase that runs.", "phase", "name"),
		unreadable: desc("unreadable_histograms_total", "Histograms of intervals that could not be decoded, and are missing here."),
		plannedEnd: desc("run_planned_end_timestamp_seconds", "When the load will be over if it goes as planned."),
		begun:      begun,
		byOp:       map[string]*operation{},
		gaps:       newGaps(info),
		ends:       plannedEnd(info.Phases, begun),
	}
	for _, p := range info.Phases {
		for _, name := range p.Ops {
			o.byOp[name] = newOperation()
		}
	}
	return o
}

// plannedEnd is when the last phase ends; without phases it is not known, and zero.
func plannedEnd(phases []result.RunPhase, begun time.Time) time.Time {
	length := 0.0
	for _, p := range phases {
		length += p.WarmupS + p.DurationS
	}
	if length == 0 {
		return time.Time{}
	}
	return begun.Add(time.Duration(length * float64(time.Second)))
}

func (o *operations) add(iv result.Interval) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range iv.Cells {
		o.addCell(c)
	}
	o.gaps.advance(iv)
}

func (o *operations) addCell(c result.Cell) {
	op := o.byOp[c.Op]
	if op == nil {
		op = newOperation()
		o.byOp[c.Op] = op
	}
	op.byClass["ok"] += c.OK
	op.byClass["unsent"] += c.Unsent
	for class, f := range c.Errors {
		op.byClass[class] += f.N
	}
	o.check(op.service.add(c.Service, c.ServiceSumUS*micro))
	if c.Latency == "" { // closed loop: an operation is sent when it is due
		o.check(op.latency.add(c.Service, c.ServiceSumUS*micro))
		return
	}
	o.check(op.latency.add(c.Latency, c.LatencySumUS*micro))
}

func (o *operations) check(err error) {
	if err != nil {
		o.broken++
	}
}

// Describe implements prometheus.Collector.
func (o *operations) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{o.total, o.latency, o.service, o.out, o.outSeconds, o.phaseInfo, o.unreadable, o.plannedEnd} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (o *operations) Collect(ch chan<- prometheus.Metric) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name, op := range o.byOp {
		for class, n := range op.byClass {
			ch <- counter(o.total, float64(n), valid(name), valid(class))
		}
		ch <- op.latency.metric(o.latency, o.begun, valid(name))
		ch <- op.service.metric(o.service, o.begun, valid(name))
	}
	for name, g := range o.gaps.byOp {
		ch <- gauge(o.out, g.out(), valid(name))
		ch <- counter(o.outSeconds, g.outSeconds(), valid(name))
	}
	if p := o.gaps.phase; p >= 0 {
		ch <- gauge(o.phaseInfo, 1, strconv.Itoa(p), valid(o.gaps.phaseName()))
	}
	if !o.ends.IsZero() {
		ch <- gauge(o.plannedEnd, float64(o.ends.UnixMilli())/1000)
	}
	ch <- counter(o.unreadable, float64(o.broken))
}

func counter(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// valid makes a label value of any text: Prometheus refuses what is not UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
