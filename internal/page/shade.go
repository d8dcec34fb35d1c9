package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// Shade is a part of an outage: Part is service, client, paused (rankbench itself
// did not run), or outage where there was no probe to tell.
type Shade struct {
	FromS float64 `json:"from_s"`
	ToS   float64 `json:"to_s"`
	Part  string  `json:"part"`
}

// The parts of an outage, the gravest first.
const (
	serviceShade = "service"
	clientShade  = "client"
	pausedShade  = "paused"
	outageShade  = "outage"
)

func outagesOf(sum result.Summary, op string) []result.Outage {
	return slices.DeleteFunc(slices.Clone(sum.Outages), func(o result.Outage) bool { return o.Op != op })
}

// partsOf splits each outage into its parts.
func partsOf(outages []result.Outage, service []result.ServiceOutage) []Shade {
	var out []Shade
	for _, o := range outages {
		out = append(out, split(o, service)...)
	}
	return out
}

// split gives the parts of one outage, in order of time: the service's part where
// the service's own outages were, as long as the outage says. What the spans do
// not explain (silences too short to be outages) is taken from the front, and
// what rankbench itself did not run for stands at the end, as that is not known.
func split(o result.Outage, service []result.ServiceOutage) []Shade {
	if o.ServiceS == nil || o.ClientS == nil {
		return []Shade{{o.FromS, o.ToS, outageShade}}
	}
	var out []Shade
	left, paused, at := *o.ServiceS, o.ToS-min(o.PausedS, o.ToS-o.FromS), o.FromS
	put := func(to float64, part string) {
		if to = min(to, paused); to-at > 1e-6 {
			out = append(out, Shade{at, to, part})
			at = to
		}
	}
	spans := within(o, service)
	for _, s := range spans {
		left -= s.ToS - s.FromS
	}
	if left > 0.005 {
		spans = append([]Shade{{o.FromS, o.FromS + left, serviceShade}}, spans...)
	}
	for _, s := range spans {
		put(s.FromS, clientShade)
		put(s.ToS, serviceShade)
	}
	put(paused, clientShade)
	if o.ToS-paused > 1e-6 {
		out = append(out, Shade{paused, o.ToS, pausedShade})
	}
	return out
}

// within are the service's outages of the operation's kind inside its outage.
func within(o result.Outage, service []result.ServiceOutage) []Shade {
	what := "read"
	if o.Op == "set" {
		what = "write"
	}
	var out []Shade
	for _, s := range service {
		from, to := max(s.FromS, o.FromS), min(s.ToS, o.ToS)
		if s.What == what && to > from {
			out = append(out, Shade{from, to, serviceShade})
		}
	}
	slices.SortFunc(out, func(a, b Shade) int { return cmp.Compare(a.FromS, b.FromS) })
	return out
}

// union gives shades that do not overlap: where several do, the gravest counts.
func union(all []Shade) []Shade {
	var edges []float64
	for _, s := range all {
		edges = append(edges, s.FromS, s.ToS)
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	out := []Shade{}
	for i := 1; i < len(edges); i++ {
		part := gravest(all, edges[i-1], edges[i])
		k := len(out) - 1
		switch {
		case part == "":
		case k >= 0 && out[k].Part == part && out[k].ToS == edges[i-1]:
			out[k].ToS = edges[i]
		default:
			out = append(out, Shade{edges[i-1], edges[i], part})
		}
	}
	return out
}

func gravest(all []Shade, from, to float64) string {
	for _, part := range []string{serviceShade, clientShade, outageShade, pausedShade} {
		for _, s := range all {
			if s.Part == part && s.FromS <= from && s.ToS >= to {
				return part
			}
		}
	}
	return ""
}

// outageStrip shows one operation's outages.
func outageStrip(op string, sum result.Summary) Strip {
	s := Strip{Name: clean(op) + " out"}
	for _, o := range outagesOf(sum, op) {
		for _, p := range split(o, sum.ServiceOutages) {
			s.Spans = append(s.Spans, Span{p.FromS, p.ToS, p.Part, fmt.Sprintf("%s %.2f s", p.Part, p.ToS-p.FromS)})
		}
	}
	return s
}

// partKey says what a shade means.
type partKey struct{ Part, Words string }

// partKeys explain the shades of a page: those of a drill always, the others where
// they occur.
func partKeys(shades []Shade) []partKey {
	has := func(part string) bool {
		return slices.ContainsFunc(shades, func(s Shade) bool { return s.Part == part })
	}
	var out []partKey
	if !has(outageShade) || has(serviceShade) || has(clientShade) {
		out = append(out, partKey{serviceShade, "outage, the service's part"}, partKey{clientShade, "outage, the client's part"})
	}
	if has(outageShade) {
		out = append(out, partKey{outageShade, "outage, not split: there was no probe"})
	}
	if has(pausedShade) {
		out = append(out, partKey{pausedShade, "rankbench itself did not run"})
	}
	return out
}
