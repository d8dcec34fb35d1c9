package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/analyze"
	"github.com/rankbench/rankbench/internal/legible"
	"github.com/rankbench/rankbench/internal/result"
)

// head is what the page says before its pictures, as clean texts.
type head struct {
	Title      string
	Sub        []string // what, when, how long
	Conditions []string // topology, client, versions, in short
	Broken     string   // interrupted or killed, "" of a whole run
	Verdict    string   // pass, fail, none, incomplete
	Cards      []card
	Ops        table
	Outages    table
	Phases     table
	Limits     table
	Faults     []string // steps that failed, what was not put back
	Warnings   []string
	Facts      []fact
	Scenario   string // YAML
	Settings   string // JSON
}

// card is a number that matters.
type card struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Note  string `json:"note"`
	Look  string `json:"look"` // good, bad or neutral
}

// fact is a condition of the run.
type fact struct{ Name, Value string }

func newHead(run result.Run, sum result.Summary) head {
	h := head{
		Title: clean(sum.Scenario), Sub: subtitle(run, sum), Conditions: conditions(run, sum), Broken: broken(sum), Verdict: clean(sum.Verdict),
		Cards: cards(sum), Ops: opsTable(sum), Outages: outagesTable(sum), Phases: phasesTable(sum), Limits: limitsTable(sum),
		Facts: facts(run, sum), Scenario: cleanLines(run.Source, 64<<10), Settings: settings(run),
	}
	for _, f := range sum.FailedSteps {
		h.Faults = append(h.Faults, "step failed: "+clean(f))
	}
	for _, f := range sum.NotRestored {
		h.Faults = append(h.Faults, "not restored: "+clean(f))
	}
	for _, w := range sum.Warnings {
		h.Warnings = append(h.Warnings, clean(w))
	}
	return h
}

// lengthInSub is where a subtitle says how long the run was.
const lengthInSub = 2

func subtitle(run result.Run, sum result.Summary) []string {
	out := []string{clean(run.Command), sum.Started.UTC().Format("2006-01-02 15:04:05 MST"), legible.Clock(sum.DurationS) + " long"}
	if run.Local {
		out = append(out, "servers on the load's own host")
	}
	return out
}

func broken(sum result.Summary) string {
	switch {
	case sum.Interrupted:
		return "This run was interrupted: the figures are those up to then."
	case !sum.Complete:
		return "This run was killed before its end: the figures are those up to then, and what was to be put back may not have been."
	}
	return ""
}

func cards(sum result.Summary) []card {
	return []card{verdictCard(sum), outageCard(sum), lostCard(sum), errorCard(sum)}
}

func verdictCard(sum result.Summary) card {
	met := 0
	for _, l := range sum.Limits {
		if l.OK && !l.Unknown {
			met++
		}
	}
	c := card{Name: "Verdict", Value: strings.ToUpper(clean(sum.Verdict)), Look: "neutral", Note: fmt.Sprintf("%d of %d limits met", met, len(sum.Limits))}
	switch sum.Verdict {
	case "pass":
		c.Look = "good"
	case "fail":
		c.Look = "bad"
	case analyze.None:
		c.Value, c.Note = "no limits", "the scenario sets none"
	}
	return c
}

// outageCard tells of the longest outage.
func outageCard(sum result.Summary) card {
	if len(sum.Outages) == 0 {
		return card{Name: "Longest outage", Value: "none", Look: "good", Note: "no operation was out"}
	}
	o := slices.MaxFunc(sum.Outages, func(a, b result.Outage) int { return sign(a.DurationS - b.DurationS) })
	c := card{Name: "Longest outage", Value: secondsText(o.DurationS), Look: "neutral", Note: clean(o.Op) + partsText(o)}
	if len(sum.Outages) > 1 {
		c.Note += fmt.Sprintf(" · %d outages", len(sum.Outages))
	}
	return c
}

func sign(v float64) int {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

// partsText is " = service 2.68 s + client 0.23 s".
func partsText(o result.Outage) string {
	if o.ServiceS == nil || o.ClientS == nil {
		return ""
	}
	text := fmt.Sprintf(" = service %.2f s + client %.2f s", *o.ServiceS, *o.ClientS)
	if o.PausedS > 0 {
		text += fmt.Sprintf(" + rankbench itself %.2f s", o.PausedS)
	}
	return text
}

func lostCard(sum result.Summary) card {
	a := sum.Audit
	if a == nil {
		return card{Name: "Lost writes", Value: "not audited", Look: "neutral", Note: "the run has no audit"}
	}
	c := card{Name: "Lost writes", Value: legible.Grouped(int64(a.Lost)), Look: "good", Note: "of " + legible.Grouped(int64(a.Acknowledged)) + " acknowledged"}
	if a.Lost > 0 {
		c.Look, c.Note = "bad", c.Note+fmt.Sprintf(", within %.2f s", a.LostWindowS)
	}
	return c
}

func errorCard(sum result.Summary) card {
	failed, due := 0.0, 0.0
	for _, p := range sum.Phases {
		for _, o := range p.Ops {
			due += float64(o.Due)
			failed += float64(o.Due - o.OK)
		}
	}
	c := card{Name: "Failed or not sent", Value: legible.Grouped(int64(failed)), Look: "neutral", Note: "of " + legible.Grouped(int64(due)) + " operations due"}
	if due > 0 && failed > 0 {
		c.Note += fmt.Sprintf(", %.2g %%", 100*failed/due)
	}
	return c
}

// opsTable is the numbers of a drill by operation, empty of a load. Alone is the
// promoted primary; where none was promoted, during is the step.
func opsTable(sum result.Summary) table {
	var t table
	if len(sum.Stretches) == 0 {
		return t
	}
	degraded := "RPS during"
	if slices.ContainsFunc(sum.Stretches, func(st result.Stretch) bool { return st.Name == "alone" }) {
		degraded = "RPS alone"
	}
	t.Head = []string{"operation", "outage", "service", "client", "RPS baseline", degraded, "RPS restored", "p99 before", "p99 during", "p99 after"}
	for _, op := range opsOf(sum.Levels) {
		l := sum.Levels[op]
		total, service, client := outageSums(outagesOf(sum, op))
		t.Rows = append(t.Rows, []string{clean(op), total, service, client,
			orDash(l.BaselineRPS, count), orDash(l.DegradedRPS, count), orDash(l.RestoredRPS, count),
			p99In(sum, op, "baseline"), p99In(sum, op, "alone", "during"), p99In(sum, op, "restored")})
	}
	return t
}

// outageSums adds up an operation's outages; one that had not ended is marked.
func outageSums(outages []result.Outage) (total, service, client string) {
	if len(outages) == 0 {
		return "none", dash, dash
	}
	t, s, c, split, open := 0.0, 0.0, 0.0, true, false
	for _, o := range outages {
		t += o.DurationS
		open = open || o.Open
		if o.ServiceS == nil || o.ClientS == nil {
			split = false
			continue
		}
		s, c = s+*o.ServiceS, c+*o.ClientS
	}
	total = secondsText(t)
	if len(outages) > 1 {
		total += fmt.Sprintf(" in %d", len(outages))
	}
	if open {
		total += ", not ended"
	}
	if !split {
		return total, dash, dash
	}
	return total, secondsText(s), secondsText(c)
}

// p99In is an operation's p99 in the stretches of such a name, the greatest.
func p99In(sum result.Summary, op string, names ...string) string {
	var worst *float64
	for _, st := range sum.Stretches {
		if v := st.Ops[op].P99US; slices.Contains(names, st.Name) && v != nil && (worst == nil || *v > *worst) {
			worst = v
		}
	}
	return orDash(worst, micros)
}

func outagesTable(sum result.Summary) table {
	t := table{Head: []string{"operation", "from", "to", "outage", "service", "client", "charged with"}}
	for _, o := range sum.Outages {
		to := preciseClock(o.ToS)
		if o.Open {
			to = "not ended"
		}
		t.Rows = append(t.Rows, []string{clean(o.Op), preciseClock(o.FromS), to, secondsText(o.DurationS),
			orDash(o.ServiceS, secondsText), orDash(o.ClientS, secondsText), charged(o)})
	}
	for _, s := range sum.ServiceOutages {
		t.Rows = append(t.Rows, []string{"probe, " + clean(s.What), preciseClock(s.FromS), preciseClock(s.ToS), secondsText(s.DurationS), secondsText(s.DurationS), dash, "seen by the independent probe"})
	}
	return t
}

func charged(o result.Outage) string {
	text := classesText(o.Errors)
	if o.Unsent > 0 {
		text = strings.TrimPrefix(text+fmt.Sprintf(", unsent %d", o.Unsent), ", ")
	}
	if text == "" {
		return dash
	}
	return text
}

func classesText(errors map[string]uint64) string {
	var out []string
	for _, c := range slices.Sorted(maps.Keys(errors)) {
		out = append(out, clean(c)+" "+legible.Grouped(int64(errors[c])))
	}
	return strings.Join(out, ", ")
}

func phasesTable(sum result.Summary) table {
	t := table{Head: []string{"phase", "operation", "due", "ok", "errors", "unsent", "RPS", "p50", "p99", "p99.9", "max"}}
	for _, p := range sum.Phases {
		for _, op := range opsOf(p.Ops) {
			o, q := p.Ops[op], p.Ops[op].LatencyUS
			errs := classesText(o.Errors)
			if errs == "" {
				errs = "0"
			}
			t.Rows = append(t.Rows, []string{clean(p.Name), clean(op), legible.Grouped(int64(o.Due)), legible.Grouped(int64(o.OK)), errs, legible.Grouped(int64(o.Unsent)),
				count(o.RPS), micros(q.P50), micros(q.P99), micros(q.P999), micros(q.Max)})
		}
	}
	return t
}

func limitsTable(sum result.Summary) table {
	t := table{Head: []string{"limit", "want", "got", "met"}}
	for _, l := range sum.Limits {
		met := "yes"
		switch {
		case l.Unknown:
			met = "not known"
		case !l.OK:
			met = "NO"
		}
		t.Rows = append(t.Rows, []string{clean(l.Name), clean(l.Want), clean(l.Got), met})
	}
	return t
}

// opsOf lists the operations of a map in their usual order.
func opsOf[T any](byOp map[string]T) []string { return inOrder(maps.Keys(byOp)) }
