package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/rankbench/rankbench/internal/legible"
	"github.com/rankbench/rankbench/internal/result"
)

// Entry is a line of the timeline.
type Entry struct {
	AtS    float64 // NaN: a line without a time
	Source string  // aws, node, dns, load, drill; "" for levels
	Text   string
}

// sourceNames are shorter than those of events.
var sourceNames = map[string]string{"elasticache": "aws", "rankbench": "drill"}

// EventEntry is the line of an event.
func EventEntry(e result.Event, group string) Entry {
	source := e.Source
	if short, ok := sourceNames[source]; ok {
		source = short
	}
	text := e.Message
	if e.Subject != "" && e.Subject != group {
		text = e.Subject + "  " + text
	}
	return Entry{AtS: e.AtS, Source: source, Text: text}
}

// Line writes a line, with its time as minutes and seconds.
func (e Entry) Line(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%8s  %-8s  %s\n", legible.Clock(e.AtS), cell(e.Source), legible.Text(e.Text, maxText))
	return err
}

// timeline is all that happened, in the order of time.
func timeline(s result.Summary) []Entry {
	var out []Entry
	group := groupOf(s)
	for _, e := range s.Events {
		out = append(out, EventEntry(e, group))
	}
	for _, o := range s.Outages {
		out = append(out, outageEntries(o)...)
	}
	for _, st := range s.Stretches {
		out = append(out, Entry{AtS: st.FromS, Source: st.Name, Text: rates(st)})
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return cmp.Compare(a.AtS, b.AtS) })
	return out
}

// groupOf is the subject of the call of a failover, or the like: the group itself.
func groupOf(s result.Summary) string {
	for _, e := range s.Events {
		if e.Source == "elasticache" && !strings.ContainsAny(e.Subject, "0123456789") {
			return e.Subject
		}
	}
	return ""
}

func outageEntries(o result.Outage) []Entry {
	first := "no success any more"
	if len(o.Errors) > 0 {
		first += " (" + classes(o.Errors) + ")"
	}
	entries := []Entry{{AtS: o.FromS, Source: "load", Text: o.Op + ": " + first}}
	if o.Open {
		return entries
	}
	return append(entries, Entry{AtS: o.ToS, Source: "load", Text: fmt.Sprintf("%s: recovered   outage %s", o.Op, parts(o))})
}

// parts is "2.91 s = service 2.68 s + client 0.23 s".
func parts(o result.Outage) string {
	text := fmt.Sprintf("%.2f s", o.DurationS)
	if o.ServiceS == nil || o.ClientS == nil {
		return text
	}
	text += fmt.Sprintf(" = service %.2f s + client %.2f s", *o.ServiceS, *o.ClientS)
	if o.PausedS > 0 {
		text += fmt.Sprintf(" + rankbench itself %.2f s", o.PausedS)
	}
	return text
}

// rates is "set 21,812 rps   get 8,304 rps".
func rates(st result.Stretch) string {
	var out []string
	for _, op := range inOrder(st.Ops) {
		rps := st.Ops[op].RPS
		if rps == nil {
			return "too short for rates"
		}
		out = append(out, fmt.Sprintf("%s %s rps", op, legible.Grouped(int64(*rps+0.5))))
	}
	return strings.Join(out, "   ")
}

// degraded is "set below half of the baseline for 2.20 s, more than 1 % errors for
// 2.10 s (in windows of 0.10 s)", "" of an operation that was never either.
func degraded(op string, l result.Level) string {
	var parts []string
	if v := l.BelowHalfS; v != nil && *v > 0 {
		parts = append(parts, fmt.Sprintf("below half of the baseline for %.2f s", *v))
	}
	if v := l.ErrorsAbove1PctS; v != nil && *v > 0 {
		parts = append(parts, fmt.Sprintf("more than 1 %% errors for %.2f s", *v))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s (in windows of %.2f s)", op, strings.Join(parts, ", "), *l.WindowS)
}

// timelineText prints the timeline of a drill, the audit, and the verdict.
func timelineText(b *strings.Builder, s result.Summary) {
	if len(s.Stretches) == 0 && s.Audit == nil {
		return
	}
	b.WriteString("\n")
	for _, e := range timeline(s) {
		_ = e.Line(b) // a strings.Builder takes everything
	}
	for _, op := range inOrder(s.Levels) {
		if text := degraded(op, s.Levels[op]); text != "" {
			fmt.Fprintf(b, "%8s  %-8s  %s\n", "", "degraded", text)
		}
	}
	if c := s.AWSClock; c != nil {
		fmt.Fprintf(b, "%8s  %-8s  %s\n", "", "clock", clockText(*c))
	}
	if a := s.Audit; a != nil {
		fmt.Fprintf(b, "%8s  %-8s  %s\n", "", "audit", auditText(*a))
	}
	for _, f := range s.FailedSteps {
		fmt.Fprintf(b, "%8s  %-8s  FAILED %s\n", "", "drill", f)
	}
	for _, f := range s.NotRestored {
		fmt.Fprintf(b, "%8s  %-8s  NOT RESTORED %s\n", "", "drill", f)
	}
	if len(s.Limits) > 0 {
		fmt.Fprintf(b, "%8s  %-8s  %s\n", "", "verdict", verdict(s))
	}
}

// clockText is "AWS's is 0.012 s ahead of ours, give or take 0.100 s".
func clockText(c result.Skew) string {
	ahead := "ahead of"
	if c.OffsetS < 0 {
		ahead = "behind"
	}
	text := fmt.Sprintf("AWS's is %.3f s %s ours, give or take %.3f s", math.Abs(c.OffsetS), ahead, c.WithinS)
	if math.Abs(c.OffsetS) > c.WithinS {
		text += "; its events are shown by our clock"
	}
	return text
}

func auditText(a result.Audit) string {
	lost := legible.Grouped(a.Lost) + " lost"
	if a.Lost > 0 {
		lost += fmt.Sprintf(" (within %.2f s)", a.LostWindowS)
	}
	text := fmt.Sprintf("%s acknowledged, %s, %s indeterminate, %s ghosts", legible.Grouped(int64(a.Acknowledged)), lost, legible.Grouped(int64(a.Indeterminate)), legible.Grouped(a.Ghosts))
	for _, more := range []struct {
		n    uint64
		what string
	}{{a.MissingReads, "reads found nothing"}, {a.StaleReads, "reads were stale"}, {uint64(a.Changed), "members were changed by others"}} {
		if more.n > 0 {
			text += fmt.Sprintf(", %s %s", legible.Grouped(int64(more.n)), more.what)
		}
	}
	return text
}

// verdict is "PASS   set.outage 2.91s <= 90s · lost_writes 212 <= 100000".
func verdict(s result.Summary) string {
	var limits []string
	for _, l := range s.Limits {
		text := fmt.Sprintf("%s %s %s", l.Name, l.Got, l.Want)
		if !l.OK || l.Unknown {
			text += " " + mark(l)
		}
		limits = append(limits, text)
	}
	return strings.ToUpper(s.Verdict) + "   " + strings.Join(limits, " · ")
}

// RepeatsText prints what the runs of a repeated drill have in common.
func RepeatsText(w io.Writer, r result.Repeats) error {
	r = allVisible(r)
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s: %d of %d runs\n", r.Scenario, len(r.Runs), r.Want)
	t := newTable(&b, "figure", "unit", "mean", "least", "most", "of")
	rightFrom(t, 3, 6)
	for _, f := range r.Figures {
		t.AppendRow(table.Row{cell(f.Name), cell(f.Unit), figure(f.Mean), figure(f.Min), figure(f.Max), len(f.Values)})
	}
	t.Render()
	_, err := io.WriteString(w, b.String())
	return err
}

// figure is a value to four significant digits, whole ones in full.
func figure(v float64) string {
	if v >= 1000 {
		return legible.Grouped(int64(v + 0.5))
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
