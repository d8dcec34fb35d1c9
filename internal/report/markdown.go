package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/legible"
	"github.com/rankbench/rankbench/internal/result"
)

// Markdown writes a run for pull requests and tickets: the verdict, the numbers that
// matter, what they were measured under, the limits, the timeline, the doubts.
func Markdown(w io.Writer, run result.Run, s result.Summary) error {
	var m markdown
	m.heading(1, fmt.Sprintf("%s: %s", s.Scenario, verdictOf(s)))
	fmt.Fprintf(&m, "%s\n\n", mdText(span(s), maxText))
	m.numbers(s)
	if a := s.Audit; a != nil {
		fmt.Fprintf(&m, "Lost writes: **%s** (%s)\n\n", legible.Grouped(a.Lost), mdText(auditText(*a), maxText))
	}
	m.trouble(s)
	m.stretches(s)
	m.conditions(run, s)
	m.limits(s.Limits)
	m.timeline(s)
	if len(s.Warnings) > 0 {
		m.heading(2, "Warnings")
		m.list(s.Warnings)
	}
	_, err := io.WriteString(w, strings.TrimRight(m.String(), "\n")+"\n")
	return err
}

// verdictOf is "PASS", or what stands for it without limits.
func verdictOf(s result.Summary) string {
	if len(s.Limits) == 0 {
		return "no limits"
	}
	return strings.ToUpper(s.Verdict)
}

// numbers are those that matter: of a drill, outages, rates and p99 before, during
// and after; of a load, the rates and latencies of each phase.
func (m *markdown) numbers(s result.Summary) {
	if len(s.Stretches) > 0 {
		m.drillNumbers(s)
		return
	}
	var rows [][]string
	for _, p := range s.Phases {
		for _, op := range opsOf(p) {
			o := p.Ops[op]
			q := o.LatencyUS
			rows = append(rows, []string{p.Name, op, fmt.Sprintf("%.1f", o.RPS), micros(q.P50), micros(q.P99), micros(q.Max),
				legible.Grouped(int64(o.Due - o.OK)), longestIn(s.Outages, op, p.Name)})
		}
	}
	m.table([]string{"phase", "operation", "rps", "p50", "p99", "max", "errors", "longest outage"}, 2, rows)
}

// longestIn is the longest outage of an operation that began in a phase, of any
// where it has no name.
func longestIn(outages []result.Outage, op, phase string) string {
	var longest result.Outage
	for _, o := range outages {
		if o.Op == op && (phase == "" || o.Phase == phase) && o.DurationS > longest.DurationS {
			longest = o
		}
	}
	if longest.DurationS == 0 {
		return "none"
	}
	text := parts(longest)
	if longest.Open {
		text += ", not ended"
	}
	return text
}

func (m *markdown) drillNumbers(s result.Summary) {
	before, during, after := around(s.Stretches)
	middle := "during"
	if during != nil {
		middle = during.Name
	}
	var rows [][]string
	for _, op := range inOrder(ops(s)) {
		due, ok := uint64(0), uint64(0)
		for _, p := range s.Phases {
			due, ok = due+p.Ops[op].Due, ok+p.Ops[op].OK
		}
		row := []string{op, longestIn(s.Outages, op, ""), legible.Grouped(int64(due - ok))}
		for _, st := range []*result.Stretch{before, during, after} {
			row = append(row, stretchRate(st, op))
		}
		for _, st := range []*result.Stretch{before, during, after} {
			row = append(row, stretchP99(st, op))
		}
		rows = append(rows, row)
	}
	m.table([]string{"operation", "outage = service + client", "errors", "rps baseline", "rps " + middle, "rps restored",
		"p99 baseline", "p99 " + middle, "p99 restored"}, 1, rows)
}

// ops are the operations of all phases.
func ops(s result.Summary) map[string]bool {
	all := map[string]bool{}
	for _, p := range s.Phases {
		for op := range p.Ops {
			all[op] = true
		}
	}
	return all
}

// around are the baseline, what was while the first step went on (alone, where a
// primary was), and the last that was restored; nil for what did not come about.
func around(all []result.Stretch) (before, during, after *result.Stretch) {
	for i := range all {
		switch st := &all[i]; st.Name {
		case "baseline":
			before = st
		case "restored":
			after = st
		case "alone", "during":
			if during == nil || during.Name == "during" && st.Name == "alone" {
				during = st
			}
		}
	}
	return before, during, after
}

func stretchRate(st *result.Stretch, op string) string {
	if st == nil || st.Ops[op].RPS == nil {
		return "-"
	}
	return legible.Grouped(int64(*st.Ops[op].RPS + 0.5))
}

func stretchP99(st *result.Stretch, op string) string {
	if st == nil || st.Ops[op].P99US == nil {
		return "-"
	}
	return micros(*st.Ops[op].P99US)
}

// trouble says what a reader must know before the figures.
func (m *markdown) trouble(s result.Summary) {
	var lines []string
	if s.Client.Bottleneck {
		lines = append(lines, "The client was the bottleneck: "+s.Client.Reason)
	}
	for _, f := range s.FailedSteps {
		lines = append(lines, "FAILED "+f)
	}
	for _, f := range s.NotRestored {
		lines = append(lines, "NOT RESTORED "+f)
	}
	m.list(lines)
}

// stretches are shown where there were more steps than one.
func (m *markdown) stretches(s result.Summary) {
	steps := slices.ContainsFunc(s.Stretches, func(st result.Stretch) bool { return st.Step > 1 })
	if !steps {
		return
	}
	m.heading(2, "Stretches")
	names := inOrder(ops(s))
	header := []string{"stretch", "step", "from", "to"}
	for _, op := range names {
		header = append(header, op+" rps", op+" p99", op+" errors")
	}
	var rows [][]string
	for _, st := range s.Stretches {
		row := []string{st.Name, strings.TrimPrefix(fmt.Sprint(st.Step), "0"), legible.Clock(st.FromS), legible.Clock(st.ToS)}
		for _, op := range names {
			row = append(row, stretchRate(&st, op), stretchP99(&st, op), legible.Grouped(int64(st.Ops[op].Failed)))
		}
		rows = append(rows, row)
	}
	m.table(header, 1, rows)
}

func (m *markdown) conditions(run result.Run, s result.Summary) {
	m.heading(2, "Conditions")
	var rows [][]string
	for _, c := range conditions(run, s) {
		rows = append(rows, []string{c.Key, c.Value})
	}
	m.table([]string{"condition", "value"}, 2, rows)
}

func (m *markdown) limits(limits []result.Limit) {
	if len(limits) == 0 {
		return
	}
	m.heading(2, "Limits")
	var rows [][]string
	for _, l := range limits {
		rows = append(rows, []string{l.Name, l.Want, l.Got, mark(l)})
	}
	m.table([]string{"limit", "want", "got", "met"}, 4, rows)
}

// timeline is that of a drill as text prints it; of a load, its events.
func (m *markdown) timeline(s result.Summary) {
	s = allVisible(s)
	var b strings.Builder
	if timelineText(&b, s); b.Len() == 0 {
		eventsText(&b, s.Events)
	}
	if text := strings.Trim(b.String(), "\n"); text != "" {
		m.heading(2, "Timeline")
		m.code(text)
	}
}
