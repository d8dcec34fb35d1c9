// Package self lets the tool watch itself, so that a reader can tell whose
// limits a run has met: the service's or the client's. It knows nothing of the
// load, of Redis, or of when the client is a bottleneck.
//
//  1. New remembers where the process stands; what it used before is not the run's.
//
//  2. Sample reads the process (CPU, memory), the host (CPU) and the Go runtime
//     (collections, scheduler) and returns totals since New, or, where a total
//     means nothing, what was since the sample before.
//
//  3. Host describes the machine, once.
//
//  4. Pauses finds the stretches in which the process did not run at all.
//
// The pool's figures, the slip and the added members are filled in by those who
// know them.
package self

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/process"

	"github.com/rankbench/rankbench/internal/result"
)

// Sampler watches the process it runs in. It is safe for concurrent use;
// "since the last sample" then is the last of anybody.
type Sampler struct {
	proc *process.Process

	mu    sync.Mutex
	start totals
	host  hostCPU
	sched schedule
}

// totals only ever grow.
type totals struct {
	cpu     time.Duration // of the process, user and system
	gcs     uint64
	gcPause time.Duration
}

// New returns a Sampler whose totals begin now.
func New() (*Sampler, error) {
	proc, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("watch own process: %w", err)
	}
	s := &Sampler{proc: proc, sched: newSchedule()}
	if s.start, err = s.totals(); err != nil {
		return nil, err
	}
	s.hostPct()
	s.sched.p99()
	return s, nil
}

// Sample returns what there is to see at offset now. CPUSeconds, GCCycles and
// GCPauseS are since New; HostCPUPct (0 to 100, all processors together) and
// SchedP99US are since the last Sample, or New. HostCPUPct is -1 where unknown;
// what else cannot be read is 0. Slip and the pool's figures are
// left to others.
func (s *Sampler) Sample(now time.Duration) result.SelfSample {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.totals()
	if err != nil {
		t = s.start
	}
	return result.SelfSample{
		AtS:        now.Seconds(),
		CPUSeconds: (t.cpu - s.start.cpu).Seconds(),
		HostCPUPct: s.hostPct(),
		RSSBytes:   s.rss(),
		GCCycles:   t.gcs - s.start.gcs,
		GCPauseS:   (t.gcPause - s.start.gcPause).Seconds(),
		Goroutines: runtime.NumGoroutine(),
		SchedP99US: s.sched.p99(),
	}
}

// totals reads the pauses from debug.ReadGCStats: an exact sum of the same
// pauses that the runtime/metrics histogram /sched/pauses/total/gc:seconds
// holds in buckets up to 1/8 wide. It does not stop the world.
func (s *Sampler) totals() (totals, error) {
	used, err := cpuTime(s.proc)
	if err != nil {
		return totals{}, fmt.Errorf("read own CPU time: %w", err)
	}
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	return totals{cpu: used, gcs: uint64(gc.NumGC), gcPause: gc.PauseTotal}, nil
}

// rss is the resident memory, bytes; 0 where unknown.
func (s *Sampler) rss() uint64 {
	m, err := s.proc.MemoryInfo()
	if err != nil {
		return 0
	}
	return m.RSS
}

// hostCPU is the processors' time, seconds summed over all of them.
type hostCPU struct{ busy, all float64 }

// hostPct is how much of all processors was busy since it was last asked.
func (s *Sampler) hostPct() float64 {
	times, err := cpu.Times(false)
	if err != nil || len(times) == 0 {
		return unknown
	}
	was := s.host
	s.host = hostCPUOf(times[0])
	return s.host.pctSince(was)
}

// unknown is the share of CPU where it cannot be told.
const unknown = -1

// hostCPUOf counts stolen time as busy: it was wanted and not had. Guest time is
// left out, for Linux counts it as user time already.
func hostCPUOf(t cpu.TimesStat) hostCPU {
	busy := t.User + t.System + t.Nice + t.Irq + t.Softirq + t.Steal
	return hostCPU{busy: busy, all: busy + t.Idle + t.Iowait}
}

func (h hostCPU) pctSince(was hostCPU) float64 {
	all := h.all - was.all
	if all <= 0 {
		return unknown
	}
	return min(100, max(0, 100*(h.busy-was.busy)/all))
}
