package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// measure is how people speak of a figure.
type measure struct{ more, less, many string }

var measures = map[string]measure{
	perSecond:  {"more", "fewer", "many"},
	count:      {"more", "fewer", "many"},
	micros:     {"longer", "shorter", "long"},
	seconds:    {"longer", "shorter", "long"},
	percent:    {"more", "less", "much"},
	perMinute:  {"more", "less", "much"},
	perCommand: {"more", "less", "much"},
}

// words say how a group stands to the base in one figure: "set rps: 12 % fewer with
// score_spread 100 than with 100000 (p = 0.029, n = 4+4)".
func (t Table) words(r Row, base, other Cell, g Group) string {
	d := *other.Difference
	with, than := contrast(t.Groups[0], g)
	text := fmt.Sprintf("%s: ", r.Name())
	switch d.Verdict {
	case Equal:
		return text + "the same in all runs"
	case Noise:
		text += "no difference that is more than noise between " + than + " and " + with
	default:
		text += change(r.Unit, base.Mean, other.Mean, with, than)
	}
	text += fmt.Sprintf(" (%s, n = %d+%d)", pText(d.P), d.N2, d.N1)
	if d.Verdict == Apart || d.Verdict == CannotTell {
		text += ": " + few(d)
	}
	return text
}

// Name is what a row is about: "find_by_order p99", "run lost writes".
func (r Row) Name() string { return r.Of + " " + strings.ReplaceAll(r.Value, "_", " ") }

// change is "12 % fewer with A than with B".
func change(unit string, base, other float64, with, than string) string {
	m := measures[unit]
	switch ratio := other / base; {
	case base == other:
		return fmt.Sprintf("the same mean with %s and with %s", with, than)
	case base == 0:
		return fmt.Sprintf("%s with %s, none with %s", short(other), with, than)
	case ratio >= 2:
		return fmt.Sprintf("%.1f times as %s with %s as with %s", ratio, m.many, with, than)
	case ratio > 1:
		return fmt.Sprintf("%s %s with %s than with %s", percentage(ratio-1), m.more, with, than)
	default:
		return fmt.Sprintf("%s %s with %s than with %s", percentage(1-ratio), m.less, with, than)
	}
}

func percentage(part float64) string {
	if p := 100 * part; p < 9.95 {
		return fmt.Sprintf("%.1f %%", p)
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

// short is a figure to four significant digits.
func short(v float64) string {
	if math.Abs(v) >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

func pText(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return "p = " + strconv.FormatFloat(math.Round(p*1000)/1000, 'g', -1, 64)
}

// few says what so few runs show.
func few(d Difference) string {
	switch {
	case min(d.N1, d.N2) < 2:
		return "of one run it is not known how far two of them lie apart"
	case d.Overlap:
		return "the ranges overlap"
	case d.Verdict == Apart && d.Gap == nil:
		return "the ranges do not overlap, and neither has any width"
	case d.Verdict == Apart:
		return fmt.Sprintf("the ranges do not overlap, and lie %.1f times the wider one's width apart", *d.Gap)
	case min(d.N1, d.N2) < fewest:
		return fmt.Sprintf("the ranges do not overlap, which one pair of equal groups in %.0f does by chance", 1/d.BestP)
	default:
		return fmt.Sprintf("the ranges do not overlap, but lie closer than the wider one is wide; one pair of equal groups in %.0f does that by chance", 1/d.BestP)
	}
}

// contrast names a group and the base by what differs between them: with one key the
// base needs its value alone. Groups whose labels are long have short names.
func contrast(base, g Group) (with, than string) {
	if g.Name != g.Label {
		return g.Name, base.Name
	}
	var a, b []string
	for i, c := range g.Conditions {
		if other := base.Conditions[i]; other.Value != c.Value {
			a, b = append(a, c.Key+" "+c.Value), append(b, other.Key+" "+other.Value)
		}
	}
	if len(a) == 1 {
		_, b[0], _ = strings.Cut(b[0], " ")
	}
	return strings.Join(a, ", "), strings.Join(b, ", ")
}

// most is the difference of a group of which the most runs tell.
func (t Table) most(group int) (most Difference) {
	for _, r := range t.Rows {
		if c := r.Cells[group]; c != nil && c.Difference != nil && (most.BestP == 0 || c.Difference.BestP < most.BestP) {
			most = *c.Difference
		}
	}
	return most
}

// TooFew says of which sizes of groups no difference can be told, "" where all can: "3
// and 3 runs cannot tell: p = 0.1 at best, which is above 0.05; 4 and 4 or more can".
// A figure that only some runs of a group have does not count.
func (t Table) TooFew() string {
	worst := Difference{}
	for i := range t.Groups {
		if d := t.most(i); d.BestP > max(alpha, worst.BestP) {
			worst = d
		}
	}
	if worst.BestP == 0 {
		return ""
	}
	enough := 1
	for bestP(enough, enough) > alpha {
		enough++
	}
	return fmt.Sprintf("%d and %d runs cannot tell: %s at best, which is above %g; %d and %d or more can",
		worst.N1, worst.N2, pText(worst.BestP), alpha, enough, enough)
}
