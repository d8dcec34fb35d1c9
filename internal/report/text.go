// Package report writes what a run found for people and programs, from a run's
// folder alone: it sees no socket and no server.
//
//  1. Lines are what `rankbench load` prints while it runs; entries of the timeline
//     are what `rankbench drill` prints beside them.
//  2. Summarize reads a folder and gives its summary, again if need be.
//  3. Text and Markdown print a summary for people; its JSON is the summary itself;
//     CSV is the intervals.
//  4. ReadRuns reads the runs that are to be compared, with their conditions;
//     ComparisonText and its like print what compare found.
//
// What came from elsewhere (servers, scenarios, folders) does no harm in any of
// them: see visible.go.
package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/rankbench/rankbench/internal/result"
)

// Text prints a summary.
func Text(w io.Writer, s result.Summary) error {
	s = allVisible(s)
	var b strings.Builder
	title(&b, s)
	for _, p := range s.Phases {
		phaseText(&b, p)
	}
	outagesText(&b, s.Outages)
	if len(s.Stretches) == 0 {
		eventsText(&b, s.Events)
	}
	stretchesText(&b, s.Stretches)
	clientText(&b, s.Client)
	limitsText(&b, s)
	warningsText(&b, s.Warnings)
	timelineText(&b, s)
	_, err := io.WriteString(w, b.String())
	return err
}

func title(b *strings.Builder, s result.Summary) {
	fmt.Fprintf(b, "\n%s: %s\n", s.Scenario, span(s))
}

// span is when a run was, and whether it came to its end.
func span(s result.Summary) string {
	text := seconds(s.DurationS) + " from " + s.Started.Format(time.RFC3339)
	switch {
	case s.Interrupted:
		text += ", interrupted"
	case !s.Complete:
		text += ", killed"
	}
	return text
}

// stretchesText shows which node did what in each stretch of a drill.
func stretchesText(b *strings.Builder, all []result.Stretch) {
	for _, st := range all {
		fmt.Fprintf(b, "\n%s, %.1f s to %.1f s\n", st.Name, st.FromS, st.ToS)
		nodesText(b, st.Nodes)
	}
}

func newTable(b *strings.Builder, header ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(b)
	style := table.StyleDefault
	style.Options = table.Options{SeparateColumns: true}
	style.Box = table.BoxStyle{PaddingRight: "  ", MiddleVertical: ""}
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	t.AppendHeader(header)
	return t
}

// rightFrom aligns all columns from the n-th on (from 1) to the right.
func rightFrom(t table.Writer, n, columns int) {
	var cfg []table.ColumnConfig
	for i := n; i <= columns; i++ {
		cfg = append(cfg, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(cfg)
}

func phaseText(b *strings.Builder, p result.Phase) {
	fmt.Fprintf(b, "\nphase %s, %s (%.1f s to %.1f s)\n", p.Name, seconds(p.ToS-p.FromS), p.FromS, p.ToS)
	t := newTable(b, "operation", "due", "ok", "unsent", "errors", "rps", "mean", "p50", "p90", "p99", "p99.9", "max")
	rightFrom(t, 2, 12)
	for _, op := range opsOf(p) {
		o := p.Ops[op]
		q := o.LatencyUS
		t.AppendRow(table.Row{cell(op), o.Due, o.OK, o.Unsent, total(o.Errors), fmt.Sprintf("%.1f", o.RPS),
			micros(q.Mean), micros(q.P50), micros(q.P90), micros(q.P99), micros(q.P999), micros(q.Max)})
	}
	t.Render()
	for _, op := range opsOf(p) {
		if o := p.Ops[op]; len(o.Errors) > 0 {
			fmt.Fprintf(b, "%s errors: %s\n", op, classes(o.Errors))
		}
	}
	nodesText(b, p.Nodes)
}

func nodesText(b *strings.Builder, nodes []result.Node) {
	if len(nodes) == 0 {
		return
	}
	b.WriteString("\n")
	t := newTable(b, "node", "address", "role", "cpu", "in/min", "out/min", "zadd", "zscore", "zcount", "zrevrange", "replicated", "driver errors")
	rightFrom(t, 4, 12)
	for _, n := range nodes {
		errs := "-"
		if n.Driver != nil {
			errs = fmt.Sprint(n.Driver.Errors)
		}
		t.AppendRow(table.Row{cell(n.ID), cell(n.Addr), cell(roles(n.Roles)), orDash(n.CPUPct, percent),
			orDash(n.NetInBytesPerMin, size), orDash(n.NetOutBytesPerMin, size),
			calls(n, n.Commands["zadd"]), calls(n, n.Commands["zscore"]), calls(n, n.Commands["zcount"]), calls(n, n.Commands["zrevrange"]),
			calls(n, n.Replicated["zadd"]), errs})
	}
	t.Render()
}

// orDash writes a figure, and a dash where there is none.
func orDash(v *float64, write func(float64) string) string {
	if v == nil {
		return "-"
	}
	return write(*v)
}

func percent(v float64) string { return fmt.Sprintf("%.0f %%", v) }

// calls writes a count of a node. One that has none at all was not counted: the
// observer's own questions would be among them.
func calls(n result.Node, count uint64) string {
	if len(n.Commands) == 0 {
		return "-"
	}
	return fmt.Sprint(count)
}

func roles(spans []result.RoleSpan) string {
	var out []string
	for _, s := range spans {
		out = append(out, s.Role)
	}
	return strings.Join(out, "→")
}

func outagesText(b *strings.Builder, outages []result.Outage) {
	if len(outages) == 0 {
		b.WriteString("\noutages: none\n")
		return
	}
	b.WriteString("\noutages\n")
	t := newTable(b, "operation", "phase", "from", "to", "duration", "errors")
	rightFrom(t, 3, 5)
	for _, o := range outages {
		to := fmt.Sprintf("%.2f s", o.ToS)
		if o.Open {
			to = "not ended"
		}
		t.AppendRow(table.Row{cell(o.Op), cell(o.Phase), fmt.Sprintf("%.2f s", o.FromS), to, parts(o), charged(o)})
	}
	t.Render()
}

// charged is what an outage is charged with.
func charged(o result.Outage) string {
	var parts []string
	if len(o.Errors) > 0 {
		parts = append(parts, classes(o.Errors))
	}
	if o.Unsent > 0 {
		parts = append(parts, fmt.Sprintf("unsent %d", o.Unsent))
	}
	if o.PausedS > 0 {
		parts = append(parts, fmt.Sprintf("rankbench itself did not run for %.2f s of it", o.PausedS))
	}
	return strings.Join(parts, ", ")
}

func eventsText(b *strings.Builder, events []result.Event) {
	if len(events) == 0 {
		return
	}
	b.WriteString("\nevents\n")
	for _, e := range events {
		fmt.Fprintf(b, "%9.2f s  %s: %s\n", e.AtS, e.Subject, e.Message)
	}
}

func clientText(b *strings.Builder, c result.Client) {
	host := "the host's unknown"
	if c.HostCPUPct >= 0 {
		host = fmt.Sprintf("%.0f %% of the host's processors busy", c.HostCPUPct)
	}
	fmt.Fprintf(b, "\nclient: cpu %.0f %% of one processor, %s, %.1f µs of cpu a command, %d commands sent\n"+
		"        memory %s, gc %d cycles, %.1f ms stopped, scheduler p99 %s, slip p99 %s, pool waits %d (%.3f s), pool timeouts %d\n",
		c.CPUPct, host, c.CPUUSPerCommand, c.Commands, size(float64(c.RSSBytes)), c.GCCycles, c.GCPauseS*1000,
		micros(c.SchedUSP99), micros(c.SlipUSP99), c.PoolWaits, c.PoolWaitS, c.PoolTimeouts)
}

func limitsText(b *strings.Builder, s result.Summary) {
	if len(s.Limits) == 0 {
		return
	}
	b.WriteString("\nlimits\n")
	t := newTable(b, "limit", "want", "got", "")
	for _, l := range s.Limits {
		t.AppendRow(table.Row{cell(l.Name), cell(l.Want), cell(l.Got), mark(l)})
	}
	t.Render()
	fmt.Fprintf(b, "verdict: %s\n", s.Verdict)
}

func mark(l result.Limit) string {
	switch {
	case l.Unknown:
		return "NOT KNOWN"
	case !l.OK:
		return "NOT MET"
	}
	return "ok"
}

func warningsText(b *strings.Builder, warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(b, "\nwarning: %s", w)
	}
	if len(warnings) > 0 {
		b.WriteString("\n")
	}
}

// opsOf lists the phase's operations in their usual order.
func opsOf(p result.Phase) []string { return inOrder(p.Ops) }

// inOrder lists the operations of a map in their usual order.
func inOrder[T any](byOp map[string]T) []string {
	order := map[string]int{"set": 0, "get": 1, "find": 2, "find_by_order": 3}
	return slices.SortedFunc(maps.Keys(byOp), func(a, b string) int { return order[a] - order[b] })
}

func classes(errors map[string]uint64) string {
	var out []string
	for _, c := range slices.Sorted(maps.Keys(errors)) {
		out = append(out, fmt.Sprintf("%s %d", c, errors[c]))
	}
	return strings.Join(out, ", ")
}

func total(errors map[string]uint64) uint64 {
	n := uint64(0)
	for _, e := range errors {
		n += e
	}
	return n
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond).String()
}

// size writes bytes in the decimal units of network figures, three significant digits.
func size(n float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if n < 999.5 { // beyond, it rounds to 1000
			return fmt.Sprintf("%.3g %s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.3g TB", n)
}
