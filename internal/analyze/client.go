package analyze

import (
	"fmt"
	"math"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rankbench/rankbench/internal/result"
)

// clientTally adds up what the tool saw of itself, over the measured parts of
// the phases but for the commands, which are those of the whole run.
type clientTally struct {
	prev             *result.SelfSample
	last             result.SelfSample
	seconds          float64
	cpu              float64
	commands         uint64 // measured
	hostBusy         float64
	hostSeconds      float64
	hostFull         float64 // seconds in which the host was full
	selfUse          []use   // of the process, by sample
	maxRSS           uint64
	schedP99         []float64
	slip             *hdr.Histogram
	pool             result.SelfSample // differences of the measured parts
	pauses           []result.Pause
	gcPause, gcCount float64
}

// use is how busy the process was for some seconds, percent of one processor.
type use struct{ seconds, pct float64 }

// busyPct is from where on a processor counts as full: above it, work waits.
const busyPct = 90.0

func (c *clientTally) add(iv result.Interval, p *phase) {
	s := iv.Self
	if s == nil {
		return
	}
	c.last = *s
	c.pauses = append(c.pauses, s.Pauses...)
	c.maxRSS = max(c.maxRSS, s.RSSBytes)
	prev := c.prev
	c.prev = s
	if p == nil || prev == nil || prev.AtS < p.from || s.AtS <= prev.AtS {
		return
	}
	c.addMeasured(*prev, *s)
}

func (c *clientTally) addMeasured(prev, s result.SelfSample) {
	d := s.AtS - prev.AtS
	c.seconds += d
	c.cpu += s.CPUSeconds - prev.CPUSeconds
	c.commands += s.Commands - prev.Commands
	if s.HostCPUPct >= 0 {
		c.hostBusy += s.HostCPUPct * d
		c.hostSeconds += d
		if s.HostCPUPct >= busyPct {
			c.hostFull += d
		}
	}
	c.selfUse = append(c.selfUse, use{d, 100 * (s.CPUSeconds - prev.CPUSeconds) / d})
	c.schedP99 = append(c.schedP99, s.SchedP99US)
	c.pool.PoolWaits += s.PoolWaits - min(prev.PoolWaits, s.PoolWaits)
	c.pool.PoolWaitS += max(s.PoolWaitS-prev.PoolWaitS, 0)
	c.pool.PoolTimeout += s.PoolTimeout - min(prev.PoolTimeout, s.PoolTimeout)
	c.gcPause += s.GCPauseS - prev.GCPauseS
	c.gcCount += float64(s.GCCycles - prev.GCCycles)
	if h, err := result.DecodeHistogram(s.Slip); err == nil && h != nil {
		if c.slip == nil {
			c.slip = h
		} else {
			c.slip.Merge(h)
		}
	}
}

func (c *clientTally) summary() result.Client {
	out := result.Client{
		HostCPUPct: -1, Commands: c.last.Commands, RSSBytes: c.maxRSS,
		GCCycles: uint64(c.gcCount), GCPauseS: c.gcPause, SchedUSP99: largest(c.schedP99),
		PoolWaits: c.pool.PoolWaits, PoolWaitS: c.pool.PoolWaitS, PoolTimeouts: c.pool.PoolTimeout,
	}
	if c.seconds > 0 {
		out.CPUPct = 100 * c.cpu / c.seconds
	}
	if c.hostSeconds > 0 {
		out.HostCPUPct = c.hostBusy / c.hostSeconds
	}
	if c.commands > 0 {
		out.CPUUSPerCommand = 1e6 * c.cpu / float64(c.commands)
	}
	if c.slip != nil {
		out.SlipUSP99 = float64(c.slip.ValueAtPercentile(99))
	}
	out.Pauses, out.PausedS, out.AddedBySet = len(c.pauses), pausedIn(c.pauses, 0, math.Inf(1)), c.last.AddedBySet
	return out
}

// pausedIn is how much of a stretch of time lies in pauses, seconds.
func pausedIn(pauses []result.Pause, from, to float64) float64 {
	sum := 0.0
	for _, p := range pauses {
		sum += max(0, min(p.ToS, to)-max(p.FromS, from))
	}
	return micro(sum)
}

// poolShare is the share of commands that had to wait for a connection from
// which on the pool, not the server, sets the pace.
const poolShare = 0.05

// bottleneck says why the figures are the client's rather than the server's,
// or "": its processors, its host's, or its pool were the limit for at least
// half of the seconds. It is judged by phase: an operation that saturates the
// client must not hide behind three that do not.
func (c *clientTally) bottleneck(maxProcs int) string {
	full := 0.0
	for _, u := range c.selfUse {
		if u.pct >= busyPct*float64(max(maxProcs, 1)) {
			full += u.seconds
		}
	}
	switch {
	case c.seconds == 0:
		return ""
	case 2*full >= c.seconds:
		return fmt.Sprintf("rankbench used its %d processors to %.0f %% or more for %.0f of %.0f s", maxProcs, busyPct, full, c.seconds)
	case 2*c.hostFull >= c.seconds:
		return fmt.Sprintf("the host's processors were at %.0f %% or more for %.0f of %.0f s", busyPct, c.hostFull, c.seconds)
	case c.commands > 0 && float64(c.pool.PoolWaits) > poolShare*float64(c.commands):
		return fmt.Sprintf("%d of %d commands waited for a connection of the driver's pool", c.pool.PoolWaits, c.commands)
	}
	return ""
}

func largest(xs []float64) float64 {
	m := 0.0
	for _, x := range xs {
		m = max(m, x)
	}
	return m
}
