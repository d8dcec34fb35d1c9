package metrics

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// shortPeriods are the periods under a minute that CloudWatch has (GetMetricData, Period).
var shortPeriods = []time.Duration{time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second}

func (q Query) check() error {
	if q.Period >= time.Minute && q.Period%time.Minute == 0 || slices.Contains(shortPeriods, q.Period) {
		return nil
	}
	return fmt.Errorf("period %s: it is neither 1s, 5s, 10s, 20s, 30s nor a multiple of 1m", q.Period)
}

// fold returns the statistics of the samples in each period that begins in
// [q.From, q.To) and has any. A sample is of one slot, which is step long; there
// are samples in the slots [first, end) at most, NaN where there is none.
// Everything is counted in seconds since the epoch, and so aligned to it.
func fold(q Query, step time.Duration, first, end int64, sample func(slot int64) float64) []Point {
	period, unit := int64(q.Period/time.Second), int64(step/time.Second)
	from := max(fullSecond(q.From), first*unit-period+1) // the period that the first slot is in may begin before it
	to := min(fullSecond(q.To), end*unit)
	var points []Point
	for start := ceilDiv(from, period) * period; start < to; start += period {
		p := Point{Start: time.Unix(start, 0).UTC()}
		for slot := max(first, start/unit); slot < min(end, (start+period)/unit); slot++ {
			p.add(sample(slot))
		}
		if p.SampleCount > 0 {
			points = append(points, p)
		}
	}
	return points
}

// fullSecond is the first full second that is not before t.
func fullSecond(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

// ceilDiv rounds up; b is positive.
func ceilDiv(a, b int64) int64 {
	if a > 0 {
		return (a + b - 1) / b
	}
	return a / b
}

func (p *Point) add(v float64) {
	if math.IsNaN(v) {
		return
	}
	if p.SampleCount == 0 {
		p.Minimum, p.Maximum = v, v
	}
	p.Sum += v
	p.SampleCount++
	p.Minimum, p.Maximum = min(p.Minimum, v), max(p.Maximum, v)
}
