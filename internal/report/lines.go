package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/result"
)

// Period is what the lines of one interval tell.
type Period struct {
	Wall    time.Time // the end
	Phase   string
	Warmup  bool
	Seconds float64
	Ops     map[string]result.OpSummary
}

// Lines writes one line for each operation and one for all of them, each
// complete in itself, so that they can be grepped:
//
//	19:00:20 mixed set           rps=24512.3   p50=1.9ms     p99=4.1ms     max=9.0ms     errors=212 refused=200 timeout=12
//	19:00:20 mixed total         rps=31612.9   errors=212
//
// errors are operations that failed or were not sent; rps counts successes
// only; p50, p99 and max are latencies of successes.
func Lines(w io.Writer, p Period) error {
	phase := cell(p.Phase)
	if p.Warmup {
		phase += "/warmup"
	}
	head := p.Wall.Format(time.TimeOnly) + " " + phase
	total := result.OpSummary{Errors: map[string]uint64{}}
	var b strings.Builder
	for _, k := range ranking.Kinds() {
		o, ok := p.Ops[k.String()]
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "%s %-14s rps=%-10.1f p50=%-9s p99=%-9s max=%-9s %s\n", head, k,
			o.RPS, micros(o.LatencyUS.P50), micros(o.LatencyUS.P99), micros(o.LatencyUS.Max), failures(o))
		sum(&total, o)
	}
	fmt.Fprintf(&b, "%s %-14s rps=%-10.1f %s\n", head, "total", total.RPS, failures(total))
	_, err := io.WriteString(w, b.String())
	return err
}

func sum(total *result.OpSummary, o result.OpSummary) {
	total.RPS += o.RPS
	total.Unsent += o.Unsent
	for c, n := range o.Errors {
		total.Errors[c] += n
	}
}

// failures is "errors=12 refused=10 unsent=2".
func failures(o result.OpSummary) string {
	n := o.Unsent
	var b strings.Builder
	for _, c := range slices.Sorted(maps.Keys(o.Errors)) {
		n += o.Errors[c]
		fmt.Fprintf(&b, " %s=%d", cell(c), o.Errors[c])
	}
	if o.Unsent > 0 {
		fmt.Fprintf(&b, " unsent=%d", o.Unsent)
	}
	return fmt.Sprintf("errors=%d%s", n, b.String())
}

// micros writes microseconds with three significant digits: 312µs, 1.92ms,
// 12.5s. The borders are where the rounded figure gets a digit more.
func micros(us float64) string {
	switch {
	case us == 0:
		return "-"
	case us < 999.5:
		return fmt.Sprintf("%.0fµs", us)
	case us < 999.5e3:
		return digits3(us/1e3) + "ms"
	default:
		return digits3(us/1e6) + "s"
	}
}

func digits3(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}
