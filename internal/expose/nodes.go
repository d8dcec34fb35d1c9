package expose

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rankbench/rankbench/internal/result"
)

// nodes shows each node as it was last sampled. A node that does not answer has
// node_up 0 and the driver's counts, and no other metric: its last figures
// would look like present ones. An endpoint's name is no node: of it there are
// the driver's counts alone.
type nodes struct {
	up, role, cpu, engineCPU, in, out, commands *prometheus.Desc
	memory, lag, link                           *prometheus.Desc
	attempts, errors, connects                  *prometheus.Desc

	mu   sync.Mutex
	last []result.NodeSample
}

func newNodes() *nodes {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("rankbench_node_"+name, help, append([]string{"node", "addr"}, labels...), nil)
	}
	return &nodes{
		up:        desc("up", "Whether the node answered the observer in time."),
		role:      desc("role", "1 for the role the node has, 0 for the other.", "role"),
		cpu:       desc("cpu_seconds_total", "CPU time of the server, all threads, user and system."),
		engineCPU: desc("engine_cpu_seconds_total", "CPU time of the server's main thread, user and system."),
		in:        desc("network_receive_bytes_total", "Bytes the server received, replication included."),
		out:       desc("network_transmit_bytes_total", "Bytes the server sent, replication included."),
		commands:  desc("commands_total", "Calls by command, as the server counts them.", "command"),
		memory:    desc("used_memory_bytes", "Memory the server uses."),
		lag:       desc("replication_lag_bytes", "How far a replica is behind its primary."),
		link:      desc("replica_link_up", "Whether a replica has its primary."),
		attempts:  desc("driver_attempts_total", "Commands the driver sent to the node, retries counted."),
		errors:    desc("driver_errors_total", "Commands the driver sent to the node that failed."),
		connects:  desc("driver_connects_total", "Connections the driver made to the node."),
	}
}

// add keeps the latest sample of each node. An interval without any leaves things as they are.
func (n *nodes) add(samples []result.NodeSample) {
	if len(samples) == 0 {
		return
	}
	at := map[[2]string]int{}
	var last []result.NodeSample
	for _, s := range samples {
		key := [2]string{s.ID, s.Addr}
		if i, ok := at[key]; ok {
			last[i] = s
			continue
		}
		at[key] = len(last)
		last = append(last, s)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = last
}

// Describe implements prometheus.Collector.
func (n *nodes) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		n.up, n.role, n.cpu, n.engineCPU, n.in, n.out, n.commands, n.memory, n.lag, n.link, n.attempts, n.errors, n.connects,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (n *nodes) Collect(ch chan<- prometheus.Metric) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.last {
		labels := []string{valid(s.ID), valid(s.Addr)}
		if s.Role != endpoint {
			n.collectNode(ch, s, labels)
		}
		if s.Driver != nil {
			n.collectDriver(ch, *s.Driver, labels)
		}
	}
}

// endpoint is the role in samples of what the driver did through an endpoint's name.
const endpoint = "endpoint"

func (n *nodes) collectNode(ch chan<- prometheus.Metric, s result.NodeSample, labels []string) {
	ch <- gauge(n.up, one(s.Up), labels...)
	if s.Up {
		n.collectServer(ch, s, labels)
	}
}

func (n *nodes) collectServer(ch chan<- prometheus.Metric, s result.NodeSample, labels []string) {
	ch <- counter(n.cpu, s.CPUSeconds, labels...)
	if s.EngineCPUSeconds > 0 { // not told before Redis 6.2
		ch <- counter(n.engineCPU, s.EngineCPUSeconds, labels...)
	}
	ch <- counter(n.in, float64(s.NetInBytes), labels...)
	ch <- counter(n.out, float64(s.NetOutBytes), labels...)
	ch <- gauge(n.memory, float64(s.UsedMemory), labels...)
	for command, calls := range s.Commands {
		if calls > 0 {
			ch <- counter(n.commands, float64(calls), labels[0], labels[1], valid(command))
		}
	}
	n.collectRole(ch, s, labels)
}

func (n *nodes) collectRole(ch chan<- prometheus.Metric, s result.NodeSample, labels []string) {
	for _, role := range []string{"primary", "replica"} {
		ch <- gauge(n.role, one(s.Role == role), labels[0], labels[1], role)
	}
	if s.Role == "replica" {
		ch <- gauge(n.lag, float64(s.LagBytes), labels...)
		ch <- gauge(n.link, one(s.Link == "up"), labels...)
	}
}

func (n *nodes) collectDriver(ch chan<- prometheus.Metric, d result.DriverSample, labels []string) {
	ch <- counter(n.attempts, float64(d.Attempts), labels...)
	ch <- counter(n.errors, float64(d.Errors), labels...)
	ch <- counter(n.connects, float64(d.Connects), labels...)
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
