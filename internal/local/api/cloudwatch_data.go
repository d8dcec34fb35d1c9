package api

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/rankbench/rankbench/internal/local/metrics"
)

// Source of both: API_GetMetricData of the CloudWatch API reference.
const (
	queryLimit     = 500
	datapointLimit = 100800
)

// dataInput is GetMetricDataInput.
type dataInput struct {
	from, to  time.Time
	ascending bool
	limit     int
	queries   []dataQuery
	begin     dataToken
}

// dataQuery is a MetricDataQuery that asks for a metric.
type dataQuery struct {
	id, label, stat string
	metric          metricID
	period          time.Duration
	hidden          bool // ReturnData=false
}

// dataToken is where a page begins: at a query, after the point of a time.
type dataToken struct {
	query int
	after time.Time // zero: at its first point
}

// dataResult is a MetricDataResult.
type dataResult struct {
	id, label string
	stat      string
	partial   bool // the next page goes on with it
	points    []metrics.Point
}

func (h *handler) getMetricData(_ context.Context, c *call) (any, error) {
	// unlike the other actions, GetMetricData calls everything a ValidationError
	a := c.args.in(dialect{codeValidation, "The parameter %s is required.", codeValidation})
	in := readDataInput(a)
	if err := a.err(); err != nil {
		return nil, err
	}
	results, next, err := h.dataPage(in)
	if err != nil {
		return nil, err
	}
	out := record{{"Messages", []any{}}, {"MetricDataResults", list(results, dataResult.record)}}
	return out.with("NextToken", next), nil
}

func readDataInput(a args) dataInput {
	in := dataInput{
		from:      a.requiredInstant("StartTime"),
		to:        a.requiredInstant("EndTime"),
		ascending: readAscending(a),
		limit:     a.between("MaxDatapoints", 1, datapointLimit, datapointLimit),
	}
	checkTimes(a, in.from, in.to)
	queries := a.structures("MetricDataQueries", "member")
	if len(queries) == 0 {
		a.missing("MetricDataQueries")
	}
	if len(queries) > queryLimit {
		a.fault(refuse(codeValidation, "The collection MetricDataQueries must not have a size greater than %d.", queryLimit))
		return in
	}
	for _, q := range queries {
		in.queries = append(in.queries, readDataQuery(q))
	}
	checkIDs(a, in.queries)
	in.begin = readDataToken(a, len(in.queries))
	return in
}

func readAscending(a args) bool {
	switch scan := a.text("ScanBy"); scan {
	case "", "TimestampDescending":
	case "TimestampAscending":
		return true
	default:
		a.fault(refuse(codeValidation, "The value %q for parameter ScanBy is invalid.", shown(scan)))
	}
	return false
}

// checkTimes refuses a window without length, in CloudWatch's words.
func checkTimes(a args, from, to time.Time) {
	code := a.faults.dialect.value
	switch {
	case from.Equal(to):
		a.fault(refuse(code, "The parameter StartTime must not equal parameter EndTime."))
	case from.After(to):
		a.fault(refuse(code, "The parameter StartTime must be less than the parameter EndTime."))
	}
}

func readDataQuery(q args) dataQuery {
	out := dataQuery{id: q.required("Id"), label: q.text("Label")}
	if returned := q.flag("ReturnData"); returned != nil {
		out.hidden = !*returned
	}
	if q.text("Expression") != "" {
		q.fault(refuse(codeValidation, "The parameter %sExpression is not supported: this local CloudWatch has no metric math, only MetricStat.", q.path))
		return out
	}
	if !q.has("MetricStat") {
		q.missing("MetricStat")
		return out
	}
	stat := q.child("MetricStat")
	out.metric, out.stat, out.period = readMetric(stat), readStat(stat), readPeriod(stat)
	if out.label == "" {
		out.label = out.metric.name
	}
	return out
}

func readMetric(stat args) metricID {
	if !stat.has("Metric") {
		stat.missing("Metric")
	}
	m := stat.child("Metric")
	return metricID{m.required("Namespace"), m.required("MetricName"), m.dimensions(), stat.text("Unit")}
}

func readStat(a args) string {
	stat := a.required("Stat")
	if !slices.Contains(statistics[:], stat) {
		a.fault(refuse(codeValidation, "The value %q for parameter %sStat is not supported.", shown(stat), a.path))
	}
	return stat
}

func readPeriod(a args) time.Duration {
	seconds := a.requiredWhole("Period")
	if !validPeriod(seconds) {
		a.fault(refuse(a.faults.dialect.value, "The parameter %sPeriod must be %s, not %d.", a.path, periodText, seconds))
	}
	return time.Duration(seconds) * time.Second
}

// checkIDs refuses names that metric math could not use, and those given twice.
func checkIDs(a args, queries []dataQuery) {
	pattern := regexp.MustCompile(`^[a-z][a-zA-Z0-9_]*$`)
	seen := map[string]bool{}
	for i, q := range queries {
		if !pattern.MatchString(q.id) || len(q.id) > 255 {
			a.fault(refuse(codeValidation, "The value %s for parameter MetricDataQueries.member.%d.Id is not matching the expected pattern ^[a-z][a-zA-Z0-9_]*$.", shown(q.id), i+1))
		}
		if seen[q.id] {
			a.fault(refuse(codeValidation, "The values for parameter id in MetricDataQueries are not unique."))
		}
		seen[q.id] = true
	}
}

func readDataToken(a args, queries int) dataToken {
	text := a.text("NextToken")
	if text == "" {
		return dataToken{}
	}
	parts, ok := openToken(text, 2)
	if !ok {
		a.fault(refuse(codeInvalidToken, "The NextToken is invalid."))
		return dataToken{}
	}
	query, err := strconv.Atoi(parts[0])
	nano, nanoErr := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || nanoErr != nil || query < 0 || query >= queries {
		a.fault(refuse(codeInvalidToken, "The NextToken is invalid."))
		return dataToken{}
	}
	if nano == 0 {
		return dataToken{query: query}
	}
	return dataToken{query, time.Unix(0, nano)}
}

func (t dataToken) String() string {
	if t.after.IsZero() {
		return token(strconv.Itoa(t.query), "0")
	}
	return token(strconv.Itoa(t.query), strconv.FormatInt(t.after.UnixNano(), 10))
}

// dataPage is a page of results and the token of the next, "" if it is the last.
func (h *handler) dataPage(in dataInput) ([]dataResult, string, error) {
	all, room := h.series(), in.limit
	var results []dataResult
	for i := in.begin.query; i < len(in.queries); i++ {
		q := in.queries[i]
		if q.hidden {
			continue
		}
		points, err := h.dataPoints(in, i, all)
		if err != nil {
			return nil, "", err
		}
		if room == 0 && len(points) > 0 {
			return results, dataToken{query: i, after: in.after(i)}.String(), nil
		}
		r := dataResult{id: q.id, label: q.label, stat: q.stat, points: points}
		if len(points) > room {
			r.points, r.partial = points[:room], true
			next := dataToken{i, points[room-1].Start}
			return append(results, r), next.String(), nil
		}
		room -= len(points)
		results = append(results, r)
	}
	return results, "", nil
}

// after is the time after which the points of a query are still due.
func (in dataInput) after(query int) time.Time {
	if query == in.begin.query {
		return in.begin.after
	}
	return time.Time{}
}

// dataPoints are the points of a query that no page has given yet, in the order
// asked for. That a page is left by a time, not by a number, keeps pages right
// while points are still being added.
func (h *handler) dataPoints(in dataInput, query int, all []series) ([]metrics.Point, error) {
	q, after := in.queries[query], in.after(query)
	s, known := q.metric.among(all)
	if !known {
		return nil, nil
	}
	points, err := h.points(s, in.from, in.to, q.period)
	if !in.ascending {
		slices.Reverse(points)
	}
	return slices.DeleteFunc(points, func(p metrics.Point) bool {
		return !after.IsZero() && (in.ascending && !p.Start.After(after) || !in.ascending && !p.Start.Before(after))
	}), err
}

func (r dataResult) record() any {
	status := "Complete"
	if r.partial {
		status = "PartialData"
	}
	return record{
		{"Id", r.id},
		{"Label", r.label},
		{"Timestamps", list(r.points, func(p metrics.Point) any { return p.Start })},
		{"Values", list(r.points, func(p metrics.Point) any { return statistic(p, r.stat) })},
		{"StatusCode", status},
	}
}
