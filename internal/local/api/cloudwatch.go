package api

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/local/metrics"
)

// cloudWatch is the reading half of CloudWatch in its three protocols. Source:
// the service model of API version 2010-08-01.
func (h *handler) cloudWatch() *service {
	return &service{
		version:   "2010-08-01",
		namespace: "http://monitoring.amazonaws.com/doc/2010-08-01/",
		target:    "GraniteServiceVersion20100801",
		json:      "1.0",
		cbor:      true,
		dialect:   dialect{codeMissing, "The parameter %s is required.", codeParameterValue},
		shapes: map[string]string{
			codeMissing:        "MissingRequiredParameterException",
			codeParameterValue: "InvalidParameterValueException",
			codeParameterMix:   "InvalidParameterCombinationException",
			codeValidation:     "ValidationException",
		},
		actions: map[string]action{
			"GetMetricData":       {do: h.getMetricData},
			"GetMetricStatistics": {do: h.getMetricStatistics},
			"ListMetrics":         {do: h.listMetrics},
		},
	}
}

// dimension is a name and a value; the value is "" in a filter for any value.
type dimension struct{ name, value string }

func (a args) dimensions() []dimension {
	var all []dimension
	for _, d := range a.structures("Dimensions", "member") {
		all = append(all, dimension{d.required("Name"), d.text("Value")})
	}
	return all
}

// The dimensions of node metrics. Source: "Host-level metrics" and "Metrics for
// Valkey and Redis OSS" of the ElastiCache user guide.
const (
	clusterDimension = "CacheClusterId"
	nodeDimension    = "CacheNodeId"
)

// series is a metric with one of the sets of dimensions it is published with.
type series struct {
	name, cluster string
	node          bool // also by CacheNodeId
}

func (s series) dimensions() []dimension {
	all := []dimension{{clusterDimension, s.cluster}}
	if s.node {
		all = append(all, dimension{nodeDimension, nodeID})
	}
	return all
}

// series are all there are. CloudWatch takes each set of dimensions for a metric
// of its own, so a metric that has both sets comes twice.
func (h *handler) series() []series {
	var all []series
	for _, m := range h.metrics.Metrics() {
		all = append(all, series{m.Name, m.CacheClusterID, false})
		if m.NodeDimension {
			all = append(all, series{m.Name, m.CacheClusterID, true})
		}
	}
	return all
}

// metricID is how a caller names a series.
type metricID struct {
	namespace, name string
	dimensions      []dimension
	unit            string // "" or the only one wanted
}

// among finds the series of exactly these dimensions, in any order. There is
// none for what was never published; that is no error.
func (m metricID) among(all []series) (series, bool) {
	if m.namespace != metrics.Namespace || m.unit != "" && m.unit != unit(m.name) {
		return series{}, false
	}
	wanted := slices.SortedFunc(slices.Values(m.dimensions), func(a, b dimension) int { return strings.Compare(a.name, b.name) })
	i := slices.IndexFunc(all, func(s series) bool { return s.name == m.name && slices.Equal(s.dimensions(), wanted) })
	if i < 0 {
		return series{}, false
	}
	return all[i], true
}

// unit is the unit a metric of ElastiCache is published in. Source: the same as
// of the dimensions; a name says it.
func unit(metric string) string {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(metric, part) })
	}
	switch {
	case has("Utilization", "Percentage", "HitRate"):
		return "Percent"
	case has("Latency"):
		return "Microseconds"
	case metric == "ReplicationLag", metric == "DurabilityLag":
		return "Seconds"
	case has("Bytes", "Memory", "SwapUsage") && metric != "MemoryFragmentationRatio":
		return "Bytes"
	}
	return "Count"
}

// retention is how long CloudWatch keeps points of one minute.
const retention = 15 * 24 * time.Hour

// points are those of a series, oldest first, without periods in which nothing
// was measured. The start is rounded down as CloudWatch does: to a minute, or to
// the period if that is shorter.
func (h *handler) points(s series, from, to time.Time, period time.Duration) ([]metrics.Point, error) {
	q := metrics.Query{Name: s.name, CacheClusterID: s.cluster, Period: period}
	q.From, q.To = h.retained(from.Truncate(min(period, time.Minute)), to)
	if period == odd {
		q.Period = odd / 2
	}
	if !q.From.Before(q.To) {
		return nil, nil
	}
	points, err := h.metrics.Points(q)
	points = slices.DeleteFunc(slices.Clone(points), func(p metrics.Point) bool { return !(p.SampleCount > 0) })
	if period == odd {
		points = joined(points, odd)
	}
	return points, err
}

// odd is the one period that CloudWatch has and package metrics has not.
const odd = 20 * time.Second

// retained is the part of a window in which there can be points, so that the
// year 2100 costs no more than tomorrow.
func (h *handler) retained(from, to time.Time) (time.Time, time.Time) {
	now := h.now()
	if oldest := now.Add(-retention).Truncate(time.Minute); from.Before(oldest) {
		from = oldest
	}
	if latest := now.Add(time.Hour); to.After(latest) {
		to = latest
	}
	return from, to
}

// joined makes points of a period from those of shorter ones.
func joined(points []metrics.Point, period time.Duration) []metrics.Point {
	var out []metrics.Point
	for _, p := range points {
		p.Start = p.Start.Truncate(period)
		last := len(out) - 1
		if last < 0 || !out[last].Start.Equal(p.Start) {
			out = append(out, p)
			continue
		}
		out[last].Sum += p.Sum
		out[last].SampleCount += p.SampleCount
		out[last].Minimum = min(out[last].Minimum, p.Minimum)
		out[last].Maximum = max(out[last].Maximum, p.Maximum)
	}
	return out
}

// validPeriod reports whether CloudWatch has statistics of that many seconds.
func validPeriod(seconds int) bool {
	return slices.Contains([]int{1, 5, 10, 20, 30}, seconds) || seconds > 0 && seconds%60 == 0
}

const periodText = "1, 5, 10, 20, 30 or a multiple of 60"

// statistics are what can be computed from a point. Percentiles need each value.
var statistics = [...]string{"SampleCount", "Average", "Sum", "Minimum", "Maximum"}

func statistic(p metrics.Point, name string) float64 {
	switch name {
	case "SampleCount":
		return p.SampleCount
	case "Average":
		return p.Average()
	case "Sum":
		return p.Sum
	case "Minimum":
		return p.Minimum
	}
	return p.Maximum
}

// token makes a NextToken of what it has to remember, so that no page depends on
// anything kept here.
func token(parts ...string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strings.Join(parts, "\n")))
}

// openToken takes a token apart; false if it is not one of that many parts.
func openToken(text string, parts int) ([]string, bool) {
	plain, err := base64.RawURLEncoding.DecodeString(text)
	all := strings.Split(string(plain), "\n")
	return all, err == nil && len(all) == parts
}
