package measure

import (
	"slices"
	"time"

	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/result"
)

// cell turns figures into the form they have in a run's folder.
func (f *figures) cell(k ranking.Kind, warm bool) (result.Cell, error) {
	c := result.Cell{Op: k.String(), Warmup: warm, OK: f.ok, OKAt: f.series()}
	for class, at := range f.failedAt {
		f.putFailures(&c, load.Class(class), at)
	}
	if err := put(f.service, &c.Service, &c.ServiceSumUS, &c.ServiceMaxUS); err != nil {
		return c, err
	}
	if f.open {
		return c, put(f.latency, &c.Latency, &c.LatencySumUS, &c.LatencyMaxUS)
	}
	return c, nil
}

func (f *figures) putFailures(c *result.Cell, class load.Class, at map[uint64]uint64) {
	if len(at) == 0 {
		return
	}
	pairs, sum := sortedPairs(at)
	if class == load.Unsent {
		c.Unsent, c.UnsentAt = sum, pairs
		return
	}
	if c.Errors == nil {
		c.Errors = map[string]result.Failure{}
	}
	c.Errors[class.String()] = result.Failure{N: sum, At: pairs}
}

func sortedPairs(at map[uint64]uint64) (pairs [][2]uint64, sum uint64) {
	for b, n := range at {
		pairs = append(pairs, [2]uint64{b, n})
		sum += n
	}
	slices.SortFunc(pairs, func(a, b [2]uint64) int { return int(int64(a[0]) - int64(b[0])) })
	return pairs, sum
}

// series leaves out the zeros at both ends.
func (f *figures) series() result.Series {
	n, from := f.okAt, f.base
	for len(n) > 0 && n[0] == 0 {
		n, from = n[1:], from+1
	}
	for len(n) > 0 && n[len(n)-1] == 0 {
		n = n[:len(n)-1]
	}
	return result.Series{From: from, N: slices.Clone(n)}
}

func put(h histogram, text *string, sum, most *float64) error {
	if h.TotalCount() == 0 {
		return nil
	}
	enc, err := result.EncodeHistogram(h.Histogram)
	*text, *sum, *most = enc, micros(h.sum), micros(h.max)
	return err
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
