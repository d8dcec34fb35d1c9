package self

import (
	"math"
	"runtime/metrics"
	"slices"
)

// schedule reads how long goroutines were runnable before they ran
// (/sched/latencies:seconds of runtime/metrics, a histogram since the process began).
type schedule struct {
	sample []metrics.Sample
	was    []uint64 // counts at the last reading
}

func newSchedule() schedule {
	return schedule{sample: []metrics.Sample{{Name: "/sched/latencies:seconds"}}}
}

// p99 is the 99th percentile since the last reading, microseconds: the upper
// bound of its bucket. It is 0 where nothing was scheduled or the runtime does
// not say.
func (s *schedule) p99() float64 {
	metrics.Read(s.sample)
	if s.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	h := s.sample[0].Value.Float64Histogram()
	since := slices.Clone(h.Counts)
	for i := range min(len(since), len(s.was)) {
		since[i] -= s.was[i]
	}
	s.was = append(s.was[:0], h.Counts...)
	return quantile(0.99, since, h.Buckets) * 1e6
}

// quantile returns the upper bound of the bucket that holds quantile q, and the
// lower one of a bucket that has no end. counts[i] lies from bounds[i] to
// bounds[i+1]. Without counts it is 0.
func quantile(q float64, counts []uint64, bounds []float64) float64 {
	var total, sum uint64
	for _, n := range counts {
		total += n
	}
	rank := uint64(math.Ceil(q * float64(total)))
	for i, n := range counts {
		sum += n
		if sum < rank || n == 0 {
			continue
		}
		if upper := bounds[i+1]; !math.IsInf(upper, 1) {
			return upper
		}
		return bounds[i]
	}
	return 0
}
