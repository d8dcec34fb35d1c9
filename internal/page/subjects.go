package page

import (
	"slices"

	"github.com/rankbench/rankbench/internal/compare"
)

// subject is what the figures under one heading have in common.
type subject struct {
	ID, Title, About string
	values           []string
}

// subjects are the headings in the order in which they are read. Figures that stand
// under none of them come last, under others.
var subjects = []subject{
	{"rps", "Operations per second", "Operations that succeeded, per second.", []string{"rps"}},
	{"outage", "Longest outage", "The longest time without a success, divided into the time in which the service could not serve and what the client cost on top.",
		[]string{"outage", "outage_service", "outage_client"}},
	{"p50", "Latency: p50", "Half of the successes took no longer.", []string{"p50"}},
	{"p99", "Latency: p99", "99 of 100 successes took no longer.", []string{"p99"}},
	{"max", "Latency: maximum", "The slowest success.", []string{"max"}},
	{"errors", "Failed or not sent", "Operations that were due and did not succeed.", []string{"errors"}},
	{"baseline", "Operations per second: baseline", "Before the first step of a drill.", []string{"baseline_rps"}},
	{"degraded", "Operations per second: degraded", "While the promoted primary was alone; where none was promoted, during the step.", []string{"degraded_rps"}},
	{"restored", "Operations per second: restored", "After everything was healthy again.", []string{"restored_rps"}},
	{"probe", "Outage of the service", "The longest time in which the independent probe could not write, or not read.", []string{"write_outage", "read_outage"}},
	{"lost", "Lost writes", "Acknowledged writes that were gone when they were read back.", []string{"lost_writes"}},
	{"steps", "Steps", "From the beginning of a step until all was healthy again.", nil},
	{"cpu", "Processor", "Percent of one processor; of nodes the mean over those of a role.", []string{"cpu"}},
	{"command", "Processor time of the client", "What one command cost the client.", []string{"cpu_per_command"}},
	{"in", "Bytes received by nodes", "Each minute, the mean over the nodes of a role.", []string{"net_in"}},
	{"out", "Bytes sent by nodes", "Each minute, the mean over the nodes of a role.", []string{"net_out"}},
}

var others = subject{ID: "others", Title: "Other figures"}

func subjectOf(r compare.Row) subject {
	i := slices.IndexFunc(subjects, func(s subject) bool {
		if r.Of == "step" {
			return s.ID == "steps"
		}
		return slices.Contains(s.values, r.Value)
	})
	if i < 0 {
		return others
	}
	return subjects[i]
}

// section is a heading with its charts.
type section struct {
	subject
	Charts []chart
}

// sectionsOf puts each figure that is not 0 in all runs under its heading.
func sectionsOf(t compare.Table) []section {
	byID := map[string][]chart{}
	for _, r := range t.Rows {
		if r.Zero() || isPart(t, r) {
			continue
		}
		id := subjectOf(r).ID
		byID[id] = append(byID[id], newChart(t, r, partsIn(t, r)))
	}
	var out []section
	for _, s := range append(slices.Clone(subjects), others) {
		if charts := byID[s.ID]; len(charts) > 0 {
			out = append(out, section{s, charts})
		}
	}
	return out
}

// outageParts are the figures that an outage is divided into, from the left, with
// the classes of their colours.
var outageParts = []struct{ value, look string }{{"outage_service", "service"}, {"outage_client", "client"}}

// partsIn are the parts of a figure, none of those that have no parts.
func partsIn(t compare.Table, whole compare.Row) []compare.Row {
	var out []compare.Row
	for _, p := range outageParts {
		i := slices.IndexFunc(t.Rows, func(r compare.Row) bool { return r.Of == whole.Of && r.Value == p.value })
		if whole.Value != "outage" || i < 0 {
			return nil
		}
		out = append(out, t.Rows[i])
	}
	return out
}

// isPart says whether a figure is shown in the chart of another.
func isPart(t compare.Table, r compare.Row) bool {
	return slices.ContainsFunc(t.Rows, func(whole compare.Row) bool {
		return whole.Of == r.Of && !whole.Zero() && slices.ContainsFunc(partsIn(t, whole), func(p compare.Row) bool { return p.Value == r.Value })
	})
}
