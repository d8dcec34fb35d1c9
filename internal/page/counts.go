package page

import (
	"math"

	"github.com/rankbench/rankbench/internal/result"
)

// bucketS is the width of the buckets in the folder, seconds.
var bucketS = result.BucketWidth.Seconds()

// fineS is the width of a bin of counts, seconds, and fineBuckets that in buckets:
// no picture of a run is finer.
const (
	fineS       = 0.1
	fineBuckets = 10
)

// counts are amounts by bin of fineS.
type counts []float64

// add adds n at a 10 ms bucket, which is the last possible one at most.
func (c *counts) add(bucket, last uint64, n float64) {
	if n == 0 {
		return
	}
	c.put(int(min(bucket, last)/fineBuckets), n)
}

func (c *counts) put(bin int, n float64) {
	for len(*c) <= bin {
		*c = append(*c, 0)
	}
	(*c)[bin] += n
}

// spread adds to each bin how many seconds of it lie between two offsets.
func (c *counts) spread(from, to float64) {
	for bin := int(from / fineS); float64(bin)*fineS < to; bin++ {
		part := min(to, float64(bin+1)*fineS) - max(from, float64(bin)*fineS)
		if part > 0 {
			c.put(bin, part)
		}
	}
}

// sums adds up so many bins each.
func (c counts) sums(bins int) []float64 {
	out := make([]float64, (len(c)+bins-1)/bins)
	for i, n := range c {
		out[i/bins] += n
	}
	return out
}

// rate is successes a second, in steps of so many seconds. A step of which less
// than half was in a phase with the operation has none: the ends of a phase are
// no dips.
func (o *opSeen) rate(step float64) []point {
	bins := int(math.Round(step / fineS))
	ok, due := o.ok.sums(bins), o.due.sums(bins)
	var out []point
	for i, s := range due {
		if s < step/2 {
			continue
		}
		n := 0.0
		if i < len(ok) {
			n = ok[i]
		}
		out = append(out, point{(float64(i) + 0.5) * step, n / s})
	}
	return out
}

// perSecond is how many a second in steps, 0 where there were none.
func (c counts) perSecond(step, to float64) []point {
	sums := c.sums(int(math.Round(step / fineS)))
	var out []point
	for i := 0; float64(i)*step < to; i++ {
		n := 0.0
		if i < len(sums) {
			n = sums[i]
		}
		out = append(out, point{(float64(i) + 0.5) * step, n / step})
	}
	return out
}

// slowest is how many a second there were of the rarest operation, while it was due.
func (b *Builder) slowest() float64 {
	least := math.Inf(1)
	for _, o := range b.ops {
		ok, due := sum(o.ok), sum(o.due)
		if ok > 0 && due > 0 {
			least = min(least, ok/due)
		}
	}
	return least
}

func sum(c counts) float64 {
	total := 0.0
	for _, n := range c {
		total += n
	}
	return total
}
