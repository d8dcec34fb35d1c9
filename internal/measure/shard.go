package measure

import (
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/ranking"
)

// shard is what one worker records into.
type shard struct {
	kind     ranking.Kind
	open     bool
	measured time.Duration

	mu    sync.Mutex
	base  uint64
	cur   [2]*figures // measured, warmup
	spare [2]*figures // empty, or being merged by the cut
}

const (
	measuredPart = iota
	warmup
)

// Record adds one outcome.
func (s *shard) Record(o load.Outcome) {
	part := measuredPart
	if o.Due < s.measured {
		part = warmup
	}
	s.mu.Lock()
	f := s.cur[part]
	if f == nil {
		f = newFigures(s.open, s.base)
		s.cur[part] = f
	}
	f.record(o)
	s.mu.Unlock()
}

// swap takes the figures recorded so far and leaves empty ones that begin at
// bucket base. The returned figures are the caller's until the next swap.
func (s *shard) swap(base uint64) [2]*figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	full := s.cur
	s.cur, s.spare = s.spare, full
	s.base = base
	for _, f := range s.cur {
		if f != nil {
			f.base = base
		}
	}
	return full
}

// figures are counts and histograms of one kind of operation.
type figures struct {
	open     bool
	base     uint64   // bucket of okAt[0]
	okAt     []uint32 // successes by bucket of Done
	ok       uint64
	failedAt [load.NumClasses]map[uint64]uint64 // failures by class and bucket of Due; nil where none
	failed   uint64
	service  histogram
	latency  histogram // open loop only: elsewhere it equals service
	slip     *hdr.Histogram
}

// histogram is an HDR histogram of microseconds with exact sum and maximum.
type histogram struct {
	*hdr.Histogram
	sum, max time.Duration
}

func (h *histogram) record(d time.Duration) {
	h.sum += d
	h.max = max(h.max, d)
	// The value is clamped to the range, so RecordValue cannot fail.
	_ = h.RecordValue(min(max(d, 0), maxTrackable).Microseconds())
}

func (h *histogram) add(from histogram) {
	h.sum += from.sum
	h.max = max(h.max, from.max)
	h.Merge(from.Histogram)
}

// initialBuckets covers a second and the slack without growing.
const initialBuckets = 256

func newFigures(open bool, base uint64) *figures {
	f := &figures{open: open, base: base, okAt: make([]uint32, 0, initialBuckets)}
	f.service.Histogram = newHistogram()
	if open {
		f.latency.Histogram = newHistogram()
		f.slip = newHistogram()
	}
	return f
}

func (f *figures) empty() bool { return f.ok == 0 && f.failed == 0 }

func (f *figures) record(o load.Outcome) {
	if slip, ok := o.Slip(); ok && f.open {
		_ = f.slip.RecordValue(min(max(slip, 0), maxTrackable).Microseconds())
	}
	if o.Err != load.OK {
		f.failAt(o.Err, bucket(o.Due), 1)
		return
	}
	f.okIn(bucket(o.Done), 1)
	f.service.record(o.Service())
	if f.open {
		f.latency.record(o.Latency())
	}
}

func (f *figures) okIn(b uint64, n uint32) {
	f.ok += uint64(n)
	i := uint64(0)
	if b > f.base {
		i = b - f.base
	}
	for uint64(len(f.okAt)) <= i {
		f.okAt = append(f.okAt, 0)
	}
	f.okAt[i] += n
}

func (f *figures) failAt(c load.Class, b, n uint64) {
	f.failed += n
	if f.failedAt[c] == nil {
		f.failedAt[c] = map[uint64]uint64{}
	}
	f.failedAt[c][b] += n
}

func (f *figures) add(from *figures) {
	f.beginBy(from.base)
	for i, n := range from.okAt {
		if n > 0 {
			f.okIn(from.base+uint64(i), n)
		}
	}
	for c, at := range from.failedAt {
		for b, n := range at {
			f.failAt(load.Class(c), b, n)
		}
	}
	f.service.add(from.service)
	if f.open {
		f.latency.add(from.latency)
	}
}

// beginBy makes room for earlier buckets: workers may have begun at different times.
func (f *figures) beginBy(base uint64) {
	if base < f.base {
		f.okAt = append(make([]uint32, f.base-base), f.okAt...)
		f.base = base
	}
}

// reset empties the figures, for the next swap.
func (f *figures) reset() {
	f.okAt, f.ok, f.failed = f.okAt[:0], 0, 0
	clear(f.failedAt[:])
	for _, h := range []*histogram{&f.service, &f.latency} {
		if h.Histogram != nil && h.TotalCount() > 0 {
			h.Reset()
		}
		h.sum, h.max = 0, 0
	}
	if f.slip != nil && f.slip.TotalCount() > 0 {
		f.slip.Reset()
	}
}

func mergeHistogram(into, from *hdr.Histogram) *hdr.Histogram {
	if from == nil || from.TotalCount() == 0 {
		return into
	}
	if into == nil {
		into = newHistogram()
	}
	into.Merge(from)
	return into
}
