//go:build unix

package self

import (
	"math"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
)

func newSampler(t *testing.T) *Sampler {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// burn uses CPU time, by the process's own account, of at least d.
func burn(t *testing.T, d time.Duration) {
	t.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for x, start := 0.0, used(); used()-start < d; x++ {
		_ = math.Sqrt(x)
	}
}

func TestCPUSecondsAreThoseUsedSinceNew(t *testing.T) {
	burn(t, 50*time.Millisecond)
	start := time.Now()
	s := newSampler(t)
	burn(t, 300*time.Millisecond)
	got := s.Sample(0).CPUSeconds
	if most := time.Since(start).Seconds() * float64(runtime.NumCPU()); got < 0.3 || got > most {
		t.Errorf("%v s of CPU, want between what was burnt (0.3) and what there was (%v)", got, most)
	}
}

func TestHostCPUIsBusyWhileWeAre(t *testing.T) {
	s := newSampler(t)
	burn(t, 500*time.Millisecond)
	// One of NumCPU processors was busy, more or less: half of that is certain.
	if got, least := s.Sample(0).HostCPUPct, 50/float64(runtime.NumCPU()); got < least || got > 100 {
		t.Errorf("host CPU %v %%, want %v to 100", got, least)
	}
}

func TestHostCPUIsUnknownWithoutTimeBetween(t *testing.T) {
	h := hostCPU{busy: 3, all: 10}
	if got := h.pctSince(h); got != unknown {
		t.Errorf("got %v, want %v", got, unknown)
	}
}

func TestHostCPUCountsStolenTimeAsBusyAndWaitForDisksAsIdle(t *testing.T) {
	was := hostCPUOf(cpu.TimesStat{User: 1, System: 1, Idle: 8})
	is := hostCPUOf(cpu.TimesStat{User: 2, System: 2, Steal: 1, Idle: 12, Iowait: 3, Guest: 1})
	if got := is.pctSince(was); got != 30 {
		t.Errorf("got %v %%, want 3 of 10", got)
	}
}

func TestCollectionsSinceNewAreCounted(t *testing.T) {
	runtime.GC()
	s := newSampler(t)
	for range 3 {
		runtime.GC()
	}
	if got := s.Sample(0); got.GCCycles < 3 || got.GCPauseS <= 0 || got.GCPauseS > 1 {
		t.Errorf("%d collections, %v s of pauses; want 3 or more and some", got.GCCycles, got.GCPauseS)
	}
}

func TestResidentMemoryHoldsWhatWasTouched(t *testing.T) {
	const size = 64 << 20
	b := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		b[i] = 1
	}
	if got := newSampler(t).Sample(0).RSSBytes; got < size {
		t.Errorf("%d bytes resident, want at least the %d just written", got, size)
	}
	runtime.KeepAlive(b)
}

func TestSampleSaysWhenAndHowManyGoroutines(t *testing.T) {
	got := newSampler(t).Sample(1500 * time.Millisecond)
	if got.AtS != 1.5 || got.Goroutines < 2 {
		t.Errorf("got %+v", got)
	}
	if got.PoolWaits != 0 || got.Slip != "" {
		t.Errorf("filled what it does not know: %+v", got)
	}
}

// TestGoroutinesThatWaitForAProcessorShowInTheSchedulersP99: each of many
// goroutines, all runnable at once and busy for a while, waits for those before it.
func TestGoroutinesThatWaitForAProcessorShowInTheSchedulersP99(t *testing.T) {
	s := newSampler(t)
	idle := s.Sample(0).SchedP99US
	done := make(chan struct{})
	n := 200 * runtime.GOMAXPROCS(0)
	for range n {
		go func() {
			for end := time.Now().Add(500 * time.Microsecond); time.Now().Before(end); {
			}
			done <- struct{}{}
		}()
	}
	for range n {
		<-done
	}
	if got := s.Sample(0).SchedP99US; got < 5000 {
		t.Errorf("p99 %v µs (%v before), want 5 ms and more: the last waited for about 100 ms", got, idle)
	}
}

func TestQuantileIsTheUpperBoundOfItsBucket(t *testing.T) {
	inf := math.Inf(1)
	bounds := []float64{math.Inf(-1), 0, 1, 2, inf}
	for _, tt := range []struct {
		name   string
		q      float64
		counts []uint64
		want   float64
	}{
		{"nothing", 0.99, []uint64{0, 0, 0, 0}, 0},
		{"one value", 0.99, []uint64{0, 1, 0, 0}, 1},
		{"99 of 100 below", 0.99, []uint64{0, 99, 1, 0}, 1},
		{"98 of 100 below", 0.99, []uint64{0, 98, 2, 0}, 2},
		{"no end above", 0.99, []uint64{0, 0, 0, 5}, 2},
		{"median", 0.5, []uint64{0, 5, 5, 0}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := quantile(tt.q, tt.counts, bounds); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestHostIsThisMachine(t *testing.T) {
	got := Host()
	if got.OS != runtime.GOOS || got.Arch != runtime.GOARCH || got.CPUs != runtime.NumCPU() || got.MaxProcs != runtime.GOMAXPROCS(0) {
		t.Errorf("got %+v", got)
	}
	if got.Name == "" || got.MemBytes < 1<<20 {
		t.Errorf("no name or no memory: %+v", got)
	}
}
