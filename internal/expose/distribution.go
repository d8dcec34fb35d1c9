package expose

import (
	"math"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

const (
	// nativeSchema gives 8 buckets for each doubling, each 9 % wider than the one
	// below: Prometheus's own choice for a bucket factor of 1.1, and coarser than
	// the source, whose buckets are within 1 %.
	nativeSchema = 3
	micro        = 1e-6
)

// classicBounds are upper bounds in seconds: from a fast answer on a local
// network to the minute that a client with default settings may hang.
func classicBounds() []float64 {
	return []float64{
		.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60,
	}
}

// distribution sums HdrHistograms of microseconds in the buckets of both forms.
// A source bucket counts as its highest value, as in the quantiles of the
// reports: up to 1 % above what was measured, never below.
type distribution struct {
	bounds  []float64
	classic []uint64      // by bound, each for itself; the last is above all bounds
	native  map[int]int64 // by index: (2^((i-1)/8), 2^(i/8)] seconds
	zero    uint64
	count   uint64
	sum     float64 // seconds
}

func newDistribution() *distribution {
	bounds := classicBounds()
	return &distribution{bounds: bounds, classic: make([]uint64, len(bounds)+1), native: map[int]int64{}}
}

// add adds a histogram in HdrHistogram V2 compressed base64, microseconds, and
// the exact sum of its values, seconds. Nothing is added on an error.
func (d *distribution) add(encoded string, sum float64) error {
	if encoded == "" {
		return nil
	}
	h, err := hdr.Decode([]byte(encoded))
	if err != nil {
		return err
	}
	d.addDecoded(h, sum)
	return nil
}

func (d *distribution) addDecoded(h *hdr.Histogram, sum float64) {
	d.sum += sum
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			d.put(float64(bar.To)*micro, uint64(bar.Count))
		}
	}
}

func (d *distribution) put(seconds float64, n uint64) {
	d.count += n
	i, _ := slices.BinarySearch(d.bounds, seconds)
	d.classic[i] += n
	if seconds <= 0 {
		d.zero += n
		return
	}
	d.native[nativeIndex(seconds)] += int64(n)
}

// nativeIndex is the bucket of a value in an exponential histogram with base
// 2^(2^-schema): https://prometheus.io/docs/specs/native_histograms/#schema.
func nativeIndex(v float64) int {
	return int(math.Ceil(math.Log2(v) * (1 << nativeSchema)))
}

// metric is the distribution as it stands, in both forms. The client library
// makes either form of a constant histogram; so its native one is made, and the
// classic buckets are added to it.
func (d *distribution) metric(desc *prometheus.Desc, begun time.Time, labels ...string) prometheus.Metric {
	native, err := prometheus.NewConstNativeHistogram(desc, d.count, d.sum, d.native, nil, d.zero,
		nativeSchema, prometheus.DefNativeHistogramZeroThreshold, begun, labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return dual{native, d.buckets()}
}

// buckets are the classic ones: cumulative, with the last, +Inf, implied.
func (d *distribution) buckets() []*dto.Bucket {
	var sum uint64
	buckets := make([]*dto.Bucket, len(d.bounds))
	for i, bound := range d.bounds {
		sum += d.classic[i]
		n := sum
		buckets[i] = &dto.Bucket{UpperBound: &bound, CumulativeCount: &n}
	}
	return buckets
}

// dual is a native histogram with classic buckets besides.
type dual struct {
	prometheus.Metric
	buckets []*dto.Bucket
}

func (m dual) Write(out *dto.Metric) error {
	if err := m.Metric.Write(out); err != nil {
		return err
	}
	out.Histogram.Bucket = m.buckets
	return nil
}
