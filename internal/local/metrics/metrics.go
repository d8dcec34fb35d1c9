// Package metrics is the CloudWatch of the local ElastiCache: the metrics that
// ElastiCache publishes of its nodes, made of what the nodes say themselves. It
// knows Redis's INFO and CloudWatch's statistics; it knows no API and no group.
//
//  1. Once a second, at the full second, every node is asked for INFO: all at
//     once, each on a connection of its own that is kept, each with a limit. What
//     they say belongs to the second that has just ended (sampler.go).
//  2. An answer becomes a row: how far each counter went since the answer before,
//     and the gauges as they are (info.go, commands.go, row.go).
//  3. Rows are kept for three hours, and at the end of each minute what they add
//     up to, for 15 days, as long as CloudWatch keeps such periods (ring.go).
//  4. A metric is a function of a row (table.go), and a query's points are the
//     statistics of its values over each period (points.go).
//
// # Samples
//
// CloudWatch has one sample a minute of each of these metrics, so that with
// SetTypeCmds at a period of 60 s Sum, Average, Minimum and Maximum are all the
// commands of that minute, and at 300 s Sum is all commands, Average those of a
// minute. It is the same here: in periods of 60 s and more each minute is one
// sample, which there is as soon as the minute is over. The sample of a counter
// is its total; of EngineCPUUtilization the mean; of a ratio (CacheHitRate, the
// latencies) that of the totals; of any other gauge its last value. In periods
// under 60 s, which ElastiCache does not have, each second is a sample.
//
// # Gaps
//
// In a second in which a node did not answer there is no value, not a zero. What
// it counted meanwhile, if it lived, is in the second in which it answers again.
// A process that was restarted counts from zero again, and all it counted is
// since; of one that is seen for the first time only what follows is known.
// Those who look are in the figures, as AWS's own monitoring is in its: one
// connection, one INFO a second (about 7 KB of NetworkBytesOut).
package metrics

import "time"

// Namespace is the only namespace there are metrics in.
const Namespace = "AWS/ElastiCache"

// Metric names a series: one metric of one cache cluster.
type Metric struct {
	Name           string // as CloudWatch's: EngineCPUUtilization …
	CacheClusterID string
	NodeDimension  bool // also by the dimension CacheNodeId=0001; both have the same values
}

// Query asks for the statistics of one series.
type Query struct {
	Name           string
	CacheClusterID string
	From, To       time.Time     // [From, To)
	Period         time.Duration // 1 s, 5 s, 10 s, 30 s or a multiple of 60 s
}

// Point is one period's statistics; Start is aligned to the period.
type Point struct {
	Start                 time.Time
	Sum, Minimum, Maximum float64
	SampleCount           float64
}

// Average is Sum by SampleCount.
func (p Point) Average() float64 { return p.Sum / p.SampleCount }
