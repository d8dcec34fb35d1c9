package api

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/rankbench/rankbench/internal/local/metrics"
)

// listPage is how many metrics an answer has. Source: API_ListMetrics of the
// CloudWatch API reference.
const listPage = 500

// listInput is ListMetricsInput; what is "" filters nothing.
type listInput struct {
	namespace, name string
	dimensions      []dimension
	begin           *series // after this one
}

func (h *handler) listMetrics(_ context.Context, c *call) (any, error) {
	in := readListInput(c.args)
	if err := c.args.err(); err != nil {
		return nil, err
	}
	found := slices.DeleteFunc(h.series(), func(s series) bool { return !in.wants(s) })
	slices.SortFunc(found, series.compare)
	next := ""
	if len(found) > listPage {
		found = found[:listPage]
		next = found[listPage-1].token()
	}
	return record{{"Metrics", list(found, series.record)}}.with("NextToken", next), nil
}

func readListInput(a args) listInput {
	in := listInput{namespace: a.text("Namespace"), name: a.text("MetricName"), dimensions: a.dimensions()}
	if active := a.text("RecentlyActive"); active != "" && active != "PT3H" {
		a.fault(refuse(codeParameterValue, "The value %q for parameter RecentlyActive is invalid.", shown(active)))
	}
	if text := a.text("NextToken"); text != "" {
		parts, ok := openToken(text, 3)
		if !ok {
			a.fault(refuse(codeInvalidToken, "The NextToken is invalid."))
			return in
		}
		in.begin = &series{parts[0], parts[1], parts[2] == "true"}
	}
	return in
}

func (s series) token() string { return token(s.name, s.cluster, strconv.FormatBool(s.node)) }

func (in listInput) wants(s series) bool {
	if in.namespace != "" && in.namespace != metrics.Namespace || in.name != "" && in.name != s.name {
		return false
	}
	if in.begin != nil && s.compare(*in.begin) <= 0 {
		return false
	}
	for _, wanted := range in.dimensions {
		if !slices.ContainsFunc(s.dimensions(), wanted.matches) {
			return false
		}
	}
	return true
}

// matches reports whether the filter d lets a dimension pass.
func (d dimension) matches(other dimension) bool {
	return d.name == other.name && (d.value == "" || d.value == other.value)
}

// compare is the order of the pages: by name, node, and number of dimensions.
func (s series) compare(o series) int {
	return cmp.Or(strings.Compare(s.name, o.name), strings.Compare(s.cluster, o.cluster),
		cmp.Compare(len(s.dimensions()), len(o.dimensions())))
}

func (s series) record() any {
	return record{
		{"Namespace", metrics.Namespace},
		{"MetricName", s.name},
		{"Dimensions", list(s.dimensions(), func(d dimension) any { return record{{"Name", d.name}, {"Value", d.value}} })},
	}
}
