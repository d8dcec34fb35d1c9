package api

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/smithy-go"

	"github.com/rankbench/rankbench/internal/local/metrics"
)

var nine = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)

// oneMetric gives the endpoint one metric, with points from nine to ten.
func (l *local) oneMetric() {
	l.metrics.all = []metrics.Metric{{Name: "EngineCPUUtilization", CacheClusterID: "lb-0001-001", NodeDimension: true}}
	l.metrics.first, l.metrics.last = nine, nine.Add(time.Hour)
}

func metricQuery(id, name, cluster, stat string, more ...types.Dimension) types.MetricDataQuery {
	return types.MetricDataQuery{Id: aws.String(id), MetricStat: &types.MetricStat{
		Metric: &types.Metric{Namespace: aws.String("AWS/ElastiCache"), MetricName: aws.String(name),
			Dimensions: append([]types.Dimension{{Name: aws.String("CacheClusterId"), Value: aws.String(cluster)}}, more...)},
		Period: aws.Int32(60), Stat: aws.String(stat),
	}}
}

func nodeOf(value string) types.Dimension {
	return types.Dimension{Name: aws.String("CacheNodeId"), Value: aws.String(value)}
}

func dataIn(queries ...types.MetricDataQuery) *cloudwatch.GetMetricDataInput {
	return &cloudwatch.GetMetricDataInput{StartTime: aws.Time(nine), EndTime: aws.Time(nine.Add(3 * time.Minute)),
		ScanBy: types.ScanByTimestampAscending, MetricDataQueries: queries}
}

func TestStatisticsOfMetricDataArrive(t *testing.T) {
	for stat, want := range map[string][]float64{
		"Sum": {4, 8, 12}, "Average": {1, 2, 3}, "Minimum": {0.5, 1.5, 2.5}, "Maximum": {1.5, 2.5, 3.5}, "SampleCount": {4, 4, 4},
	} {
		l := startLocal(t)
		l.oneMetric()
		out, err := l.cloudwatch().GetMetricData(t.Context(), dataIn(metricQuery("m", "EngineCPUUtilization", "lb-0001-001", stat)))
		if err != nil {
			t.Fatal(err)
		}
		inUTC(out.MetricDataResults[0].Timestamps)
		same(t, stat, out.MetricDataResults, []types.MetricDataResult{{
			Id: aws.String("m"), Label: aws.String("EngineCPUUtilization"), StatusCode: types.StatusCodeComplete, Values: want,
			Timestamps: []time.Time{nine, nine.Add(time.Minute), nine.Add(2 * time.Minute)},
		}})
	}
}

// inUTC undoes that the SDK gives times out of CBOR in the local zone.
func inUTC(times []time.Time) {
	for i, at := range times {
		times[i] = at.UTC()
	}
}

func TestNewestPointsComeFirstUnlessAskedOtherwise(t *testing.T) {
	l := startLocal(t)
	l.oneMetric()
	in := dataIn(metricQuery("m", "EngineCPUUtilization", "lb-0001-001", "Average"))
	in.ScanBy = ""
	out, err := l.cloudwatch().GetMetricData(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "values", out.MetricDataResults[0].Values, []float64{3, 2, 1})
}

func TestOnlyTheDimensionsAMetricIsPublishedWithHaveValues(t *testing.T) {
	l := startLocal(t)
	l.oneMetric()
	l.metrics.all = append(l.metrics.all, metrics.Metric{Name: "ReplicationLag", CacheClusterID: "lb-0001-001"})
	other := metricQuery("namespace", "EngineCPUUtilization", "lb-0001-001", "Sum")
	other.MetricStat.Metric.Namespace = aws.String("AWS/EC2")
	wrongUnit := metricQuery("bytes", "EngineCPUUtilization", "lb-0001-001", "Sum")
	wrongUnit.MetricStat.Unit = types.StandardUnitBytes
	unit := metricQuery("percent", "EngineCPUUtilization", "lb-0001-001", "Sum")
	unit.MetricStat.Unit = types.StandardUnitPercent
	hidden := metricQuery("hidden", "EngineCPUUtilization", "lb-0001-001", "Sum")
	hidden.ReturnData = aws.Bool(false)
	out, err := l.cloudwatch().GetMetricData(t.Context(), dataIn(
		metricQuery("cluster", "EngineCPUUtilization", "lb-0001-001", "Sum"),
		metricQuery("node", "EngineCPUUtilization", "lb-0001-001", "Sum", nodeOf("0001")),
		metricQuery("othernode", "EngineCPUUtilization", "lb-0001-001", "Sum", nodeOf("0002")),
		metricQuery("noNode", "ReplicationLag", "lb-0001-001", "Sum", nodeOf("0001")),
		metricQuery("lag", "ReplicationLag", "lb-0001-001", "Sum"),
		metricQuery("unknown", "Nothing", "lb-0001-001", "Sum"),
		metricQuery("noCluster", "EngineCPUUtilization", "x", "Sum"),
		other, wrongUnit, unit, hidden,
	))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range out.MetricDataResults {
		got[*r.Id] = len(r.Values)
		if r.StatusCode != types.StatusCodeComplete {
			t.Errorf("%s: %s", *r.Id, r.StatusCode)
		}
	}
	same(t, "numbers of values", got, map[string]int{"cluster": 3, "node": 3, "othernode": 0, "noNode": 0, "lag": 3, "unknown": 0,
		"noCluster": 0, "namespace": 0, "bytes": 0, "percent": 3})
}

func TestPagesOfMetricDataHaveEachPointOnce(t *testing.T) {
	for _, scan := range []types.ScanBy{types.ScanByTimestampAscending, types.ScanByTimestampDescending} {
		for _, size := range []int32{1, 7, 59, 60, 61, 1000} {
			t.Run(fmt.Sprintf("%s %d", scan, size), func(t *testing.T) {
				l := startLocal(t)
				l.oneMetric()
				in := dataIn(metricQuery("a", "EngineCPUUtilization", "lb-0001-001", "Average"), metricQuery("none", "Nothing", "x", "Sum"),
					metricQuery("b", "EngineCPUUtilization", "lb-0001-001", "Average", nodeOf("0001")))
				in.EndTime, in.ScanBy, in.MaxDatapoints = aws.Time(nine.Add(time.Hour)), scan, aws.Int32(size)
				checkDataPages(t, l, in)
			})
		}
	}
}

func checkDataPages(t *testing.T, l *local, in *cloudwatch.GetMetricDataInput) {
	t.Helper()
	got := map[string][]float64{}
	pages := cloudwatch.NewGetMetricDataPaginator(l.cloudwatch(), in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, r := range page.MetricDataResults {
			got[*r.Id] = append(got[*r.Id], r.Values...)
			n += len(r.Values)
		}
		if n > int(*in.MaxDatapoints) {
			t.Errorf("a page of %d points", n)
		}
	}
	var want []float64
	for i := range 60 {
		value := float64(i + 1)
		if in.ScanBy == types.ScanByTimestampDescending {
			value = float64(60 - i)
		}
		want = append(want, value)
	}
	same(t, "a", got["a"], want)
	same(t, "b", got["b"], want)
	if none, there := got["none"]; !there || len(none) > 0 {
		t.Errorf("the series without points: %v, %t", none, there)
	}
}

func TestStartIsRoundedDown(t *testing.T) {
	for _, row := range []struct {
		period int32
		want   time.Time
	}{
		{60, nine.Add(time.Minute)}, {300, nine.Add(5 * time.Minute)}, {30, nine.Add(90 * time.Second)}, {1, nine.Add(95 * time.Second)},
		{20, nine.Add(80 * time.Second)},
	} {
		l := startLocal(t)
		l.oneMetric()
		in := dataIn(metricQuery("m", "EngineCPUUtilization", "lb-0001-001", "Average"))
		in.StartTime, in.EndTime = aws.Time(nine.Add(95*time.Second)), aws.Time(nine.Add(30*time.Minute))
		in.MetricDataQueries[0].MetricStat.Period = aws.Int32(row.period)
		out, err := l.cloudwatch().GetMetricData(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if got := out.MetricDataResults[0].Timestamps[0]; !got.Equal(row.want) {
			t.Errorf("period %d: first point at %s, want %s", row.period, got, row.want)
		}
	}
}

func TestTwentySecondsAreJoinedFromTens(t *testing.T) {
	got := joined([]metrics.Point{
		{Start: nine, Sum: 4, Minimum: 1, Maximum: 2, SampleCount: 4},
		{Start: nine.Add(10 * time.Second), Sum: 6, Minimum: 0, Maximum: 1, SampleCount: 2},
		{Start: nine.Add(30 * time.Second), Sum: 1, Minimum: 1, Maximum: 1, SampleCount: 1},
	}, 20*time.Second)
	same(t, "points", got, []metrics.Point{
		{Start: nine, Sum: 10, Minimum: 0, Maximum: 2, SampleCount: 6},
		{Start: nine.Add(20 * time.Second), Sum: 1, Minimum: 1, Maximum: 1, SampleCount: 1},
	})
}

func TestMetricStatisticsArriveWithAllFields(t *testing.T) {
	l := startLocal(t)
	l.oneMetric()
	in := statisticsIn()
	out, err := l.cloudwatch().GetMetricStatistics(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range out.Datapoints {
		*p.Timestamp = p.Timestamp.UTC()
	}
	same(t, "datapoints", out.Datapoints, []types.Datapoint{
		{Timestamp: aws.Time(nine), Average: aws.Float64(1), Maximum: aws.Float64(1.5), Minimum: aws.Float64(0.5), Sum: aws.Float64(4),
			SampleCount: aws.Float64(4), Unit: types.StandardUnitPercent},
		{Timestamp: aws.Time(nine.Add(time.Minute)), Average: aws.Float64(2), Maximum: aws.Float64(2.5), Minimum: aws.Float64(1.5), Sum: aws.Float64(8),
			SampleCount: aws.Float64(4), Unit: types.StandardUnitPercent},
	})
	if *out.Label != "EngineCPUUtilization" {
		t.Errorf("label %q", *out.Label)
	}
	in.MetricName = aws.String("Nothing")
	if out, err = l.cloudwatch().GetMetricStatistics(t.Context(), in); err != nil || len(out.Datapoints) != 0 {
		t.Errorf("of an unknown metric: %v, %v", out, err)
	}
}

func statisticsIn() *cloudwatch.GetMetricStatisticsInput {
	return &cloudwatch.GetMetricStatisticsInput{
		Namespace: aws.String("AWS/ElastiCache"), MetricName: aws.String("EngineCPUUtilization"), Period: aws.Int32(60),
		StartTime: aws.Time(nine), EndTime: aws.Time(nine.Add(2 * time.Minute)),
		Dimensions: []types.Dimension{{Name: aws.String("CacheClusterId"), Value: aws.String("lb-0001-001")}},
		Statistics: []types.Statistic{"Sum", "Average", "Minimum", "Maximum", "SampleCount"},
	}
}

func TestPagesOfMetricsHaveEachOnce(t *testing.T) {
	l := startLocal(t)
	for i := range 700 {
		l.metrics.all = append(l.metrics.all, metrics.Metric{Name: fmt.Sprintf("M%03d", 699-i), CacheClusterID: "lb", NodeDimension: i%2 == 0})
	}
	seen := map[string]int{}
	sizes := []int{}
	pages := cloudwatch.NewListMetricsPaginator(l.cloudwatch(), &cloudwatch.ListMetricsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page.Metrics))
		for _, m := range page.Metrics {
			seen[fmt.Sprintf("%s %d", *m.MetricName, len(m.Dimensions))]++
		}
	}
	same(t, "sizes", sizes, []int{500, 500, 50})
	for name, n := range seen {
		if n != 1 {
			t.Errorf("%s: %d times", name, n)
		}
	}
}

func TestMetricsAreFiltered(t *testing.T) {
	l := startLocal(t)
	l.oneMetric()
	l.metrics.all = append(l.metrics.all, metrics.Metric{Name: "ReplicationLag", CacheClusterID: "lb-0001-002"})
	cluster := func(value *string) types.DimensionFilter {
		return types.DimensionFilter{Name: aws.String("CacheClusterId"), Value: value}
	}
	for _, row := range []struct {
		name string
		in   cloudwatch.ListMetricsInput
		want int
	}{
		{"nothing", cloudwatch.ListMetricsInput{}, 3},
		{"namespace", cloudwatch.ListMetricsInput{Namespace: aws.String("AWS/ElastiCache")}, 3},
		{"another namespace", cloudwatch.ListMetricsInput{Namespace: aws.String("AWS/EC2")}, 0},
		{"name", cloudwatch.ListMetricsInput{MetricName: aws.String("ReplicationLag"), RecentlyActive: types.RecentlyActivePt3h}, 1},
		{"dimension", cloudwatch.ListMetricsInput{Dimensions: []types.DimensionFilter{cluster(nil)}}, 3},
		{"value", cloudwatch.ListMetricsInput{Dimensions: []types.DimensionFilter{cluster(aws.String("lb-0001-001"))}}, 2},
		{"two dimensions", cloudwatch.ListMetricsInput{Dimensions: []types.DimensionFilter{cluster(aws.String("lb-0001-001")), {Name: aws.String("CacheNodeId")}}}, 1},
	} {
		out, err := l.cloudwatch().ListMetrics(t.Context(), &row.in)
		if err != nil || len(out.Metrics) != row.want {
			t.Errorf("%s: %v, %v, want %d", row.name, out, err, row.want)
		}
	}
}

func TestCloudWatchRefusesInItsWords(t *testing.T) {
	query := metricQuery("m", "EngineCPUUtilization", "lb-0001-001", "Sum")
	data := func(change func(*cloudwatch.GetMetricDataInput)) func(*local) error {
		return func(l *local) error {
			in := dataIn(metricQuery("m", "EngineCPUUtilization", "lb-0001-001", "Sum"))
			change(in)
			_, err := l.cloudwatch().GetMetricData(t.Context(), in)
			return err
		}
	}
	statistics := func(change func(*cloudwatch.GetMetricStatisticsInput)) func(*local) error {
		return func(l *local) error {
			in := statisticsIn()
			change(in)
			_, err := l.cloudwatch().GetMetricStatistics(t.Context(), in)
			return err
		}
	}
	for _, row := range []struct {
		name string
		call func(*local) error
		code string
		is   func(error) bool
	}{
		{"expression", data(func(in *cloudwatch.GetMetricDataInput) {
			in.MetricDataQueries[0] = types.MetricDataQuery{Id: aws.String("e"), Expression: aws.String("SUM(METRICS())")}
		}), "ValidationError", nil},
		{"neither", data(func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries[0].MetricStat = nil }), "ValidationError", nil},
		{"period", data(func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries[0].MetricStat.Period = aws.Int32(45) }), "ValidationError", nil},
		{"period of nothing", data(func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries[0].MetricStat.Period = aws.Int32(0) }), "ValidationError", nil},
		{"negative period", data(func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries[0].MetricStat.Period = aws.Int32(-60) }), "ValidationError", nil},
		{"percentile", data(func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries[0].MetricStat.Stat = aws.String("p99") }), "ValidationError", nil},
		{"id", data(func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries[0].Id = aws.String("M-1") }), "ValidationError", nil},
		{"id twice", data(func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries = append(in.MetricDataQueries, query) }), "ValidationError", nil},
		{"no queries", data(func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries = []types.MetricDataQuery{} }), "ValidationError", nil},
		{"501 queries", data(func(in *cloudwatch.GetMetricDataInput) { in.MetricDataQueries = make501(query) }), "ValidationError", nil},
		{"no time between", data(func(in *cloudwatch.GetMetricDataInput) { in.EndTime = in.StartTime }), "ValidationError", nil},
		{"scan", data(func(in *cloudwatch.GetMetricDataInput) { in.ScanBy = "x" }), "ValidationError", nil},
		{"datapoints", data(func(in *cloudwatch.GetMetricDataInput) { in.MaxDatapoints = aws.Int32(0) }), "ValidationError", nil},
		{"token", data(func(in *cloudwatch.GetMetricDataInput) { in.NextToken = aws.String("x") }), "InvalidNextToken", as[*types.InvalidNextToken]},
		{"token of another call", data(func(in *cloudwatch.GetMetricDataInput) { in.NextToken = aws.String(token("7", "0")) }), "InvalidNextToken", as[*types.InvalidNextToken]},
		{"period of statistics", statistics(func(in *cloudwatch.GetMetricStatisticsInput) { in.Period = aws.Int32(7) }), "InvalidParameterValue", as[*types.InvalidParameterValueException]},
		{"too many points", statistics(func(in *cloudwatch.GetMetricStatisticsInput) { in.EndTime = aws.Time(nine.Add(25 * time.Hour)) }),
			"InvalidParameterCombination", as[*types.InvalidParameterCombinationException]},
		{"end before start", statistics(func(in *cloudwatch.GetMetricStatisticsInput) { in.EndTime = aws.Time(nine.Add(-time.Hour)) }), "InvalidParameterValue", as[*types.InvalidParameterValueException]},
		{"no statistics", statistics(func(in *cloudwatch.GetMetricStatisticsInput) { in.Statistics = nil }), "MissingParameter", as[*types.MissingRequiredParameterException]},
		{"unknown statistic", statistics(func(in *cloudwatch.GetMetricStatisticsInput) { in.Statistics = []types.Statistic{"Median"} }), "InvalidParameterValue", as[*types.InvalidParameterValueException]},
		{"extended", statistics(func(in *cloudwatch.GetMetricStatisticsInput) { in.ExtendedStatistics = []string{"p99"} }), "InvalidParameterValue", as[*types.InvalidParameterValueException]},
		{"token of metrics", func(l *local) error {
			_, err := l.cloudwatch().ListMetrics(t.Context(), &cloudwatch.ListMetricsInput{NextToken: aws.String("!")})
			return err
		}, "InvalidNextToken", nil},
		{"activity", func(l *local) error {
			_, err := l.cloudwatch().ListMetrics(t.Context(), &cloudwatch.ListMetricsInput{RecentlyActive: "PT4H"})
			return err
		}, "InvalidParameterValue", as[*types.InvalidParameterValueException]},
		{"a defect", func(l *local) error {
			l.metrics.err = errors.New("a defect")
			_, err := l.cloudwatch().GetMetricData(t.Context(), dataIn(query))
			return err
		}, "InternalFailure", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := startLocal(t)
			l.oneMetric()
			err := row.call(l)
			api, ok := errors.AsType[smithy.APIError](err)
			if !ok || api.ErrorCode() != row.code || row.is != nil && !row.is(err) {
				t.Errorf("%v, want %s", err, row.code)
			}
		})
	}
}

func make501(q types.MetricDataQuery) []types.MetricDataQuery {
	var all []types.MetricDataQuery
	for i := range 501 {
		q.Id = aws.String(fmt.Sprintf("m%d", i))
		all = append(all, q)
	}
	return all
}

func TestUnitFollowsFromTheName(t *testing.T) {
	for name, want := range map[string]string{
		"EngineCPUUtilization": "Percent", "CPUUtilization": "Percent", "DatabaseMemoryUsagePercentage": "Percent", "CacheHitRate": "Percent",
		"NetworkBytesIn": "Bytes", "BytesUsedForCache": "Bytes", "FreeableMemory": "Bytes", "ReplicationBytes": "Bytes", "SwapUsage": "Bytes",
		"ReplicationLag": "Seconds", "SortedSetBasedCmdsLatency": "Microseconds", "SortedSetBasedCmds": "Count", "IsMaster": "Count",
		"MemoryFragmentationRatio": "Count", "CurrConnections": "Count",
	} {
		if got := unit(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestEpochTakesOnlySensibleTimes(t *testing.T) {
	for _, seconds := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, 1e12, -1} {
		if at := epoch(seconds); sensible(at) {
			t.Errorf("%v is %s", seconds, at)
		}
	}
	if at := epoch(1793523600.123); !at.Equal(nine.Add(123 * time.Millisecond)) {
		t.Error(at)
	}
}
