package analyze

import (
	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rankbench/rankbench/internal/result"
)

// tally adds up the cells of one operation.
type tally struct {
	ok, unsent uint64
	errors     map[string]uint64
	latency    distribution
	service    distribution
	okAt       map[uint64]uint64            // by 10 ms bucket of done
	failedAt   map[string]map[uint64]uint64 // by class (and "unsent"), by 10 ms bucket of due
}

// distribution is a histogram of microseconds with exact sum and maximum.
type distribution struct {
	*hdr.Histogram
	sum, max float64
}

func newTally() *tally {
	return &tally{errors: map[string]uint64{}, okAt: map[uint64]uint64{}, failedAt: map[string]map[uint64]uint64{}}
}

const unsentClass = "unsent"

func (t *tally) add(c result.Cell) error {
	t.ok += c.OK
	t.unsent += c.Unsent
	for i, n := range c.OKAt.N {
		if n > 0 {
			t.okAt[c.OKAt.From+uint64(i)] += uint64(n)
		}
	}
	t.failAt(unsentClass, c.UnsentAt)
	for class, f := range c.Errors {
		t.errors[class] += f.N
		t.failAt(class, f.At)
	}
	if err := t.service.add(c.Service, c.ServiceSumUS, c.ServiceMaxUS); err != nil {
		return err
	}
	if c.Latency == "" { // closed loop: the same figures
		return t.latency.add(c.Service, c.ServiceSumUS, c.ServiceMaxUS)
	}
	return t.latency.add(c.Latency, c.LatencySumUS, c.LatencyMaxUS)
}

func (t *tally) failAt(class string, pairs [][2]uint64) {
	if len(pairs) > 0 && t.failedAt[class] == nil {
		t.failedAt[class] = map[uint64]uint64{}
	}
	for _, p := range pairs {
		t.failedAt[class][p[0]] += p[1]
	}
}

func (t *tally) due() uint64 {
	n := t.ok + t.unsent
	for _, e := range t.errors {
		n += e
	}
	return n
}

func (t *tally) summary(seconds float64) result.OpSummary {
	s := result.OpSummary{
		Due: t.due(), OK: t.ok, Unsent: t.unsent, Errors: t.errors,
		LatencyUS: t.latency.quantiles(), ServiceUS: t.service.quantiles(),
	}
	if seconds > 0 {
		s.RPS = float64(t.ok) / seconds
	}
	return s
}

func (d *distribution) add(encoded string, sum, most float64) error {
	h, err := result.DecodeHistogram(encoded)
	if err != nil || h == nil {
		return err
	}
	d.sum += sum
	d.max = max(d.max, most)
	if d.Histogram == nil {
		d.Histogram = h
		return nil
	}
	d.Merge(h)
	return nil
}

// quantiles of the distribution. A quantile is the upper end of its bucket
// (two significant digits), so it is cut at the exact maximum.
func (d *distribution) quantiles() result.Quantiles {
	if d.Histogram == nil || d.TotalCount() == 0 {
		return result.Quantiles{}
	}
	q := func(p float64) float64 { return min(float64(d.ValueAtPercentile(p)), d.max) }
	return result.Quantiles{
		Mean: d.sum / float64(d.TotalCount()),
		P50:  q(50), P90: q(90), P99: q(99), P999: q(99.9), Max: d.max,
	}
}
