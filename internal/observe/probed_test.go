//go:build unix

package observe_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/observe"
	"github.com/rankbench/rankbench/internal/result"
)

const (
	bucket = result.BucketWidth
	// tolerance is how far a time that the probe tells may be off, beside what a
	// witness has seen to be the machine's doing.
	tolerance = 100 * time.Millisecond
)

// witness is an independent client that asks a node nothing happens to, at the
// probe's rhythm: what it misses on a busy machine, the probe may miss, too.
type witness struct {
	mu     sync.Mutex
	asked  int
	last   time.Time
	longer time.Duration
}

func startWitness(t *testing.T, addr string) *witness {
	t.Helper()
	rdb, done := clientOf(t, addr, ""), make(chan struct{})
	must(t, rdb.Ping(t.Context()).Err()) // connected
	w := &witness{last: time.Now()}
	ctx, cancel := context.WithCancel(t.Context())
	tick := time.NewTicker(20 * time.Millisecond)
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if rdb.Ping(ctx).Err() == nil {
				w.answered()
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	t.Cleanup(func() { cancel(); tick.Stop(); <-done })
	return w
}

func (w *witness) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.longer = max(w.longer, time.Since(w.last)-20*time.Millisecond)
	w.last = time.Now()
	w.asked++
}

// stall is how much too late an answer has come, at worst.
func (w *witness) stall() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.longer, time.Since(w.last)-20*time.Millisecond)
}

func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

// slack is the tolerance and what the machine has added to it.
func (w *witness) slack() time.Duration { return tolerance + 2*w.stall() }

// failures are the errors of a cell, but timeouts on a machine that stood still.
func (p *probed) failures(w *witness, cell string) map[string]uint64 {
	errors := maps.Clone(p.failed[cell])
	if w.stall() > tolerance/4 {
		delete(errors, "timeout")
	}
	return errors
}

// probed is a running probe and what it has yielded.
type probed struct {
	watched
	probe *observe.Probe
	now   func() time.Duration
	stop  func()

	cutMu  sync.Mutex
	okAt   map[string]map[time.Duration]uint32 // by cell and bucket
	ok     map[string]uint64
	asked  map[string]uint64
	failed map[string]map[string]uint64
}

func startProbe(t *testing.T, o observe.Options, po observe.ProbeOptions) *probed {
	t.Helper()
	p := &probed{
		probe: observe.NewProbe(o, po), now: clock(), okAt: map[string]map[time.Duration]uint32{},
		ok: map[string]uint64{}, asked: map[string]uint64{}, failed: map[string]map[string]uint64{},
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.probe.Run(ctx, p.now, p.event)
	}()
	p.stop = func() { cancel(); <-done; p.cut(t) }
	t.Cleanup(func() { p.stop(); must(t, p.probe.Close()) })
	return p
}

// cut adds what was seen since the last cut, and checks that it adds up.
func (p *probed) cut(t *testing.T) {
	t.Helper()
	p.cutMu.Lock()
	defer p.cutMu.Unlock()
	for _, c := range p.probe.Cut() {
		at, failed := p.okAt[c.Name], p.failed[c.Name]
		if at == nil {
			at, failed = map[time.Duration]uint32{}, map[string]uint64{}
			p.okAt[c.Name], p.failed[c.Name] = at, failed
		}
		sum := uint64(0)
		for i, n := range c.OKAt.N {
			at[time.Duration(c.OKAt.From+uint64(i))*bucket] += n
			sum += uint64(n)
		}
		p.ok[c.Name] += sum
		for class, n := range c.Errors {
			failed[class] += n
			sum += n
		}
		if p.asked[c.Name] += c.Asked; c.Asked != sum {
			t.Errorf("%s: asked %d, but %d are ok or failed", c.Name, c.Asked, sum)
		}
	}
}

// gap is the longest time without a success of a cell that touches the stretch
// from one offset to another, from bucket to bucket.
func (p *probed) gap(t *testing.T, cell string, from, to time.Duration) (longest time.Duration) {
	t.Helper()
	p.cut(t)
	var done []time.Duration
	for at, n := range p.okAt[cell] {
		if n > 0 {
			done = append(done, at)
		}
	}
	slices.Sort(done)
	for i := range done[1:] {
		if done[i+1] >= from && done[i] <= to {
			longest = max(longest, done[i+1]-done[i]-bucket)
		}
	}
	return longest
}

// awaitOK waits until a cell has a success at or after an offset, and returns when that was.
func (p *probed) awaitOK(t *testing.T, cell string, after time.Duration) (at time.Duration) {
	t.Helper()
	p.await(t, cell, func() bool {
		p.cut(t)
		for _, at = range slices.Sorted(maps.Keys(p.okAt[cell])) {
			if at >= after && p.okAt[cell][at] > 0 {
				return true
			}
		}
		return false
	})
	return at
}

func (p *probed) awaitError(t *testing.T, cell, class string) {
	t.Helper()
	before := p.failed[cell][class]
	p.await(t, cell+" "+class, func() bool { p.cut(t); return p.failed[cell][class] > before })
}

// pass lets a time pass in which the probe goes on.
func (p *probed) pass(t *testing.T, d time.Duration) {
	t.Helper()
	until := p.now() + d
	p.await(t, "the end", func() bool { return p.now() >= until })
}

func (p *probed) told(source string) (events []result.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		if e.Source == source {
			events = append(events, e)
		}
	}
	return events
}
