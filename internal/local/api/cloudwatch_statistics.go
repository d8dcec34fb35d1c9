package api

import (
	"context"
	"slices"
	"time"

	"github.com/rankbench/rankbench/internal/local/metrics"
)

// statisticsLimit is how many points an answer may have. Source:
// API_GetMetricStatistics of the CloudWatch API reference.
const statisticsLimit = 1440

// statisticsInput is GetMetricStatisticsInput.
type statisticsInput struct {
	metric     metricID
	from, to   time.Time
	period     time.Duration
	statistics []string
}

func (h *handler) getMetricStatistics(_ context.Context, c *call) (any, error) {
	in := readStatisticsInput(c.args)
	if err := c.args.err(); err != nil {
		return nil, err
	}
	var points []metrics.Point
	if s, known := in.metric.among(h.series()); known {
		var err error
		if points, err = h.points(s, in.from, in.to, in.period); err != nil {
			return nil, err
		}
	}
	return record{{"Label", in.metric.name}, {"Datapoints", list(points, in.datapoint)}}, nil
}

func readStatisticsInput(a args) statisticsInput {
	in := statisticsInput{
		metric:     metricID{a.required("Namespace"), a.required("MetricName"), a.dimensions(), a.text("Unit")},
		from:       a.requiredInstant("StartTime"),
		to:         a.requiredInstant("EndTime"),
		period:     readPeriod(a),
		statistics: a.texts("Statistics", "member"),
	}
	checkTimes(a, in.from, in.to)
	checkStatistics(a, in.statistics)
	if in.period <= 0 {
		return in
	}
	if n := in.to.Sub(in.from) / in.period; n > statisticsLimit {
		a.fault(refuse(codeParameterMix, "You have requested up to %d datapoints, which exceeds the limit of %d. "+
			"You may reduce the datapoints requested by increasing Period, or decreasing the time range.", n, statisticsLimit))
	}
	return in
}

func checkStatistics(a args, names []string) {
	if extended := a.texts("ExtendedStatistics", "member"); len(extended) > 0 {
		a.fault(refuse(codeParameterValue, "The parameter ExtendedStatistics is not supported: this local CloudWatch has no percentiles."))
	}
	if len(names) == 0 {
		a.missing("Statistics")
	}
	for _, name := range names {
		if !slices.Contains(statistics[:], name) {
			a.fault(refuse(codeParameterValue, "The value %q for parameter Statistics is invalid.", shown(name)))
		}
	}
}

// datapoint has the statistics asked for, and no others.
func (in statisticsInput) datapoint(p metrics.Point) any {
	out := record{{"Timestamp", p.Start}}
	for _, name := range statistics {
		if slices.Contains(in.statistics, name) {
			out = append(out, field{name, statistic(p, name)})
		}
	}
	return append(out, field{"Unit", unit(in.metric.name)})
}
