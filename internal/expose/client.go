package expose

import (
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/rankbench/rankbench/internal/result"
)

// client shows what the tool last saw of itself, and sums the schedule's slip.
type client struct {
	cpu, host, memory, waits, waited, timeouts *prometheus.Desc
	slip, unreadable                           *prometheus.Desc
	begun                                      time.Time

	mu     sync.Mutex
	last   *result.SelfSample
	slips  *distribution
	broken uint64
}

func newClient(begun time.Time) *client {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc("rankbench_"+name, help, nil, nil) }
	return &client{
		cpu:        desc("client_cpu_seconds_total", "CPU time of the load's own process since the start of the run."),
		host:       desc("client_host_cpu_ratio", "Share of all processors of the load's host that was busy in the last interval."),
		memory:     desc("client_resident_memory_bytes", "Resident memory of the load's own process."),
		waits:      desc("client_pool_waits_total", "Commands that waited for a connection of the driver's pool."),
		waited:     desc("client_pool_wait_seconds_total", "Time commands waited for a connection of the driver's pool."),
		timeouts:   desc("client_pool_timeouts_total", "Commands that gave up waiting for a connection of the driver's pool."),
		slip:       desc("schedule_slip_seconds", "How late an operation was sent although a worker was free."),
		unreadable: desc("client_unreadable_histograms_total", "Histograms of the slip that could not be decoded, and are missing here."),
		begun:      begun,
		slips:      newDistribution(),
	}
}

func (c *client) add(s *result.SelfSample) {
	if s == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := *s
	c.last = &kept
	if s.Slip == "" {
		return
	}
	h, err := hdr.Decode([]byte(s.Slip))
	if err != nil {
		c.broken++
		return
	}
	// No exact sum comes with the slip: the histogram's own is within 1 %.
	c.slips.addDecoded(h, h.Mean()*float64(h.TotalCount())*micro)
}

// Describe implements prometheus.Collector.
func (c *client) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.cpu, c.host, c.memory, c.waits, c.waited, c.timeouts, c.slip, c.unreadable} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *client) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch <- c.slips.metric(c.slip, c.begun)
	ch <- counter(c.unreadable, float64(c.broken))
	if c.last == nil {
		return
	}
	ch <- counter(c.cpu, c.last.CPUSeconds)
	if c.last.HostCPUPct >= 0 {
		ch <- gauge(c.host, c.last.HostCPUPct/100)
	}
	ch <- gauge(c.memory, float64(c.last.RSSBytes))
	ch <- counter(c.waits, float64(c.last.PoolWaits))
	ch <- counter(c.waited, c.last.PoolWaitS)
	ch <- counter(c.timeouts, float64(c.last.PoolTimeout))
}
