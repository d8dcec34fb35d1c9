package analyze

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

// Verdicts.
const (
	Pass = "pass"
	Fail = "fail"
	None = "none" // the scenario has no limits
	// Incomplete: what was seen meets the limits, but that is not enough: the run was interrupted or
	// killed, a step of the drill failed, or a limit cannot be told.
	Incomplete = "incomplete"
)

// Metrics of limits, as scenarios name them.
const (
	metricOutage     = "outage"
	metricErrors     = "errors"
	metricUnsent     = "unsent"
	metricRPS        = "rps"
	metricLostWrites = "lost_writes"
	MetricBottleneck = "client_bottleneck"
)

// judge compares the summary with the limits. An operation that runs in
// several phases is judged by its worst phase, errors by their sum.
func judge(limits []result.RunLimit, s result.Summary) ([]result.Limit, string) {
	out := []result.Limit{}
	verdict := None
	for _, l := range limits {
		j := judgeOne(l, s)
		out = append(out, j)
		switch {
		case !j.OK && !j.Unknown:
			verdict = Fail
		case j.Unknown && verdict != Fail:
			verdict = Incomplete
		case verdict == None:
			verdict = Pass
		}
	}
	if verdict == Pass && (cutShort(s) || len(s.FailedSteps) > 0) {
		verdict = Incomplete
	}
	return out, verdict
}

// cutShort tells that the run did not come to its end.
func cutShort(s result.Summary) bool { return s.Interrupted || !s.Complete }

// Wanted is a limit's name and bound as people read them: "set.p99", "<= 20ms".
func Wanted(l result.RunLimit) (name, want string) {
	switch l.Metric {
	case MetricBottleneck:
		return l.Metric, "no"
	case metricLostWrites:
		return l.Metric, "<= " + format(l.Metric, l.Want)
	case metricRPS:
		return l.Op + "." + l.Metric, ">= " + format(l.Metric, l.Want)
	default:
		return l.Op + "." + l.Metric, "<= " + format(l.Metric, l.Want)
	}
}

func judgeOne(l result.RunLimit, s result.Summary) result.Limit {
	name, want := Wanted(l)
	if l.Metric == MetricBottleneck {
		return result.Limit{Name: name, Want: want, Got: yesNo(s.Client.Bottleneck), OK: !s.Client.Bottleneck}
	}
	if l.Metric == metricLostWrites {
		return judgeLost(name, want, l.Want, s)
	}
	if l.Metric == metricOutage && ran(l.Op, s.Phases) {
		return judgeOutage(name, want, l, s.Outages)
	}
	got := measured(l, s)
	if math.IsNaN(got) { // no success: a latency limit is not met
		return result.Limit{Name: name, Want: want, Got: "no success", OK: false}
	}
	ok := got <= l.Want
	if l.Metric == metricRPS {
		ok = got >= l.Want
	}
	return result.Limit{Name: name, Want: want, Got: format(l.Metric, got), OK: ok}
}

// judgeLost: what was not read back may be lost.
func judgeLost(name, want string, most float64, s result.Summary) result.Limit {
	if s.Audit == nil {
		return result.Limit{Name: name, Want: want, Got: "not read back", Unknown: cutShort(s)}
	}
	return result.Limit{Name: name, Want: want, Got: strconv.FormatInt(s.Audit.Lost, 10), OK: float64(s.Audit.Lost) <= most}
}

// judgeOutage judges the longest outage without what is not the service's: while
// rankbench itself did not run. One that is within the limit only because of that,
// or because the load ended before it did, is not known to be.
func judgeOutage(name, want string, l result.RunLimit, outages []result.Outage) result.Limit {
	longest, whole, open := 0.0, 0.0, false
	for _, o := range outages {
		if o.Op == l.Op {
			longest, whole, open = max(longest, micro(o.DurationS-o.PausedS)), max(whole, o.DurationS), open || o.Open
		}
	}
	out := result.Limit{Name: name, Want: want, Got: format(l.Metric, longest), OK: longest <= l.Want}
	switch {
	case !out.OK:
	case open:
		out.Got += ", not ended"
		out.OK, out.Unknown = false, true
	case whole > l.Want:
		out.Got += fmt.Sprintf(", or %s with what rankbench did not see", format(l.Metric, whole))
		out.OK, out.Unknown = false, true
	}
	return out
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// measured is the figure a limit is about: seconds, a count, or a rate; NaN
// where there is none.
func measured(l result.RunLimit, s result.Summary) float64 {
	got, seen := 0.0, false
	for _, p := range s.Phases {
		o, ok := p.Ops[l.Op]
		if !ok {
			continue
		}
		v := metricOf(l.Metric, o)
		switch {
		case !seen || math.IsNaN(v):
			got = v
		case l.Metric == metricErrors || l.Metric == metricUnsent:
			got += v
		case l.Metric == metricRPS:
			got = min(got, v)
		default:
			got = max(got, v) // max of NaN is NaN
		}
		seen = true
	}
	if !seen {
		return math.NaN()
	}
	return got
}

func metricOf(metric string, o result.OpSummary) float64 {
	switch metric {
	case metricErrors:
		n := uint64(0)
		for _, e := range o.Errors {
			n += e
		}
		return float64(n)
	case metricUnsent:
		return float64(o.Unsent)
	case metricRPS:
		return o.RPS
	}
	if o.OK == 0 {
		return math.NaN()
	}
	q := o.LatencyUS
	us := map[string]float64{"p50": q.P50, "p90": q.P90, "p99": q.P99, "p999": q.P999, "max": q.Max}[metric]
	return us / 1e6
}

// ran says whether a phase that was reached has the operation: of one that was
// never tried, no outage is no merit.
func ran(op string, phases []result.Phase) bool {
	return slices.ContainsFunc(phases, func(p result.Phase) bool { _, ok := p.Ops[op]; return ok })
}

func format(metric string, v float64) string {
	switch metric {
	case metricErrors, metricUnsent, metricLostWrites:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case metricRPS:
		return fmt.Sprintf("%.1f/s", v)
	default:
		return seconds(v)
	}
}

// seconds is a time in seconds, as "8.39s", "60s" or, below one, "2.5ms".
func seconds(v float64) string {
	if v >= 1 {
		return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) + "s"
	}
	return time.Duration(v * float64(time.Second)).Round(time.Microsecond).String()
}
