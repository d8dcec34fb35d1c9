package aws

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
)

// Series is one metric of one node, oldest point first. CloudWatch has a point a
// minute, two or three minutes late: context, not measurement.
type Series struct {
	Node   string  `json:"node"`
	Name   string  `json:"name"`
	Stat   string  `json:"stat"` // Average, Sum, Maximum, Minimum: of each point
	Unit   string  `json:"unit"` // Percent, Bytes, Count …; "" where it is not known
	Points []Point `json:"points"`
}

// Point is a value of the period that begins at At.
type Point struct {
	At    time.Time `json:"at"`
	Value float64   `json:"value"`
}

// queriesAtOnce is the limit of GetMetricData.
const queriesAtOnce = 500

// reading is how a metric is read.
type reading struct{ stat, unit string }

// readings are those of the metrics that rankings and failures are watched by.
// Source of the units: "Metrics for Valkey and Redis OSS" and "Host-Level
// Metrics" of the ElastiCache User Guide. Counts and bytes are sums of a minute.
func readings() map[string]reading {
	return map[string]reading{
		"EngineCPUUtilization":          {"Average", "Percent"},
		"CPUUtilization":                {"Average", "Percent"},
		"NetworkBytesIn":                {"Sum", "Bytes"},
		"NetworkBytesOut":               {"Sum", "Bytes"},
		"MasterLinkHealthStatus":        {"Minimum", "Boolean"},
		"IsMaster":                      {"Maximum", "Boolean"},
		"GetTypeCmds":                   {"Sum", "Count"},
		"SetTypeCmds":                   {"Sum", "Count"},
		"SortedSetBasedCmds":            {"Sum", "Count"},
		"SortedSetBasedCmdsLatency":     {"Average", "Microseconds"},
		"GetTypeCmdsLatency":            {"Average", "Microseconds"},
		"SetTypeCmdsLatency":            {"Average", "Microseconds"},
		"CacheHits":                     {"Sum", "Count"},
		"CacheMisses":                   {"Sum", "Count"},
		"CacheHitRate":                  {"Average", "Percent"},
		"ReplicationLag":                {"Maximum", "Seconds"},
		"ReplicationBytes":              {"Sum", "Bytes"},
		"CurrConnections":               {"Average", "Count"},
		"NewConnections":                {"Sum", "Count"},
		"CurrItems":                     {"Average", "Count"},
		"Evictions":                     {"Sum", "Count"},
		"BytesUsedForCache":             {"Average", "Bytes"},
		"DatabaseMemoryUsagePercentage": {"Average", "Percent"},
	}
}

// DefaultMetrics are what a practitioner laid beside the failures of a ranking:
// the load of each node, who serves what, and how the replicas follow.
func DefaultMetrics() []string {
	return []string{
		"EngineCPUUtilization", "CPUUtilization", "NetworkBytesIn", "NetworkBytesOut", "GetTypeCmds", "SetTypeCmds",
		"SortedSetBasedCmds", "CacheHits", "CacheMisses", "MasterLinkHealthStatus", "ReplicationLag", "ReplicationBytes",
		"IsMaster", "CurrConnections",
	}
}

// Metrics reads metrics of nodes from from to to (zero: now), both widened to
// whole periods (zero: a minute, the shortest that AWS has of ElastiCache). No
// names are DefaultMetrics. There is a series for each node and name, in this
// order; it has no points where there are none.
func (c *Client) Metrics(ctx context.Context, nodes, names []string, from, to time.Time, period time.Duration) ([]Series, error) {
	if len(names) == 0 {
		names = DefaultMetrics()
	}
	if to.IsZero() {
		to = c.clock.latest(time.Now())
	}
	if period < time.Second {
		period = time.Minute
	}
	period = period.Truncate(time.Second)
	from, to = from.Truncate(period), to.Add(period-1).Truncate(period)
	if !from.Before(to) {
		return nil, misused("read metrics", "the time ends before it begins")
	}
	series := seriesOf(nodes, names)
	for some := range slices.Chunk(series, queriesAtOnce) {
		if err := c.readMetrics(ctx, some, from, to, period); err != nil {
			return nil, c.explain("read metrics", err)
		}
	}
	return series, nil
}

func seriesOf(nodes, names []string) []Series {
	known := readings()
	var all []Series
	for _, node := range nodes {
		for _, name := range names {
			r, ok := known[name]
			if !ok {
				r.stat = "Average"
			}
			all = append(all, Series{Node: node, Name: name, Stat: r.stat, Unit: r.unit})
		}
	}
	return all
}

// readMetrics fills series, at most as many as one call can ask for.
func (c *Client) readMetrics(ctx context.Context, series []Series, from, to time.Time, period time.Duration) error {
	in := &cloudwatch.GetMetricDataInput{StartTime: &from, EndTime: &to, ScanBy: types.ScanByTimestampAscending}
	byID := map[string]*Series{}
	for i := range series {
		id := fmt.Sprintf("m%d", i)
		byID[id] = &series[i]
		in.MetricDataQueries = append(in.MetricDataQueries, query(id, series[i], period))
	}
	pages := cloudwatch.NewGetMetricDataPaginator(c.watch, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, r := range page.MetricDataResults {
			if err := fill(byID[aws.ToString(r.Id)], r); err != nil {
				return err
			}
		}
	}
	return nil
}

func query(id string, s Series, period time.Duration) types.MetricDataQuery {
	return types.MetricDataQuery{Id: &id, MetricStat: &types.MetricStat{
		Stat: &s.Stat, Period: aws.Int32(int32(period / time.Second)),
		Metric: &types.Metric{
			Namespace: aws.String("AWS/ElastiCache"), MetricName: &s.Name,
			// some metrics exist only with both dimensions, and all do with both
			Dimensions: []types.Dimension{
				{Name: aws.String("CacheClusterId"), Value: &s.Node}, {Name: aws.String("CacheNodeId"), Value: aws.String(theNode)},
			},
		},
	}}
}

// fill adds the points of a page.
func fill(s *Series, r types.MetricDataResult) error {
	if s == nil || len(r.Timestamps) != len(r.Values) {
		return &Error{Code: CodeBadAnswer, Message: "CloudWatch answers what was not asked"}
	}
	if r.StatusCode == types.StatusCodeInternalError || r.StatusCode == types.StatusCodeForbidden {
		return &Error{Code: string(r.StatusCode), Message: fmt.Sprintf("CloudWatch has no answer for %s of %s", s.Name, s.Node)}
	}
	for i, at := range r.Timestamps {
		s.Points = append(s.Points, Point{At: at, Value: r.Values[i]})
	}
	return nil
}
