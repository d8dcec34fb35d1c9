package scenario

import (
	"slices"
	"time"

	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/result"
)

// limits returns the bounds by operation, then those of the run.
func (c check) limits(k limitKeys, phases []Phase) []result.RunLimit {
	var limits []result.RunLimit
	byKind := [ranking.NumKinds]*opLimitKeys{
		ranking.Set: k.Set, ranking.Get: k.Get, ranking.Find: k.Find, ranking.FindByOrder: k.FindByOrder,
	}
	for i, keys := range byKind {
		if keys != nil {
			limits = append(limits, c.opLimits(ranking.Kind(i), keys, phases)...)
		}
	}
	if k.LostWrites != nil {
		limits = append(limits, result.RunLimit{Metric: "lost_writes", Want: float64(*k.LostWrites)})
	}
	if k.ClientBottleneck != nil {
		c.oneOf("limits.client_bottleneck", *k.ClientBottleneck, "forbid")
		limits = append(limits, result.RunLimit{Metric: "client_bottleneck"})
	}
	return limits
}

func (c check) opLimits(kind ranking.Kind, k *opLimitKeys, phases []Phase) []result.RunLimit {
	if !slices.ContainsFunc(phases, func(p Phase) bool { return p.sends(kind) }) {
		c.doc.Errorf("limits."+kind.String(), "no phase sends this operation")
	}
	l := opLimits{check: c, kind: kind}
	l.latency("p50", k.P50)
	l.latency("p90", k.P90)
	l.latency("p99", k.P99)
	l.latency("p999", k.P999)
	l.latency("max", k.Max)
	l.outage(k.Outage)
	l.count("errors", k.Errors)
	l.count("unsent", k.Unsent)
	l.rps(k.RPS)
	return l.list
}

func (p Phase) sends(kind ranking.Kind) bool {
	return slices.ContainsFunc(p.Ops, func(l Load) bool { return l.Kind == kind })
}

// opLimits collects the limits of one operation.
type opLimits struct {
	check
	kind ranking.Kind
	list []result.RunLimit
}

func (l *opLimits) add(metric string, want float64) {
	l.list = append(l.list, result.RunLimit{Op: l.kind.String(), Metric: metric, Want: want})
}

func (l *opLimits) path(metric string) string { return "limits." + l.kind.String() + "." + metric }

func (l *opLimits) latency(metric string, most *time.Duration) {
	if most != nil {
		positive(l.check, l.path(metric), *most, maxDuration)
		l.add(metric, most.Seconds())
	}
}

// outage may be 0: no outage at all.
func (l *opLimits) outage(most *time.Duration) {
	if most != nil {
		within(l.check, l.path("outage"), *most, 0, maxDuration)
		l.add("outage", most.Seconds())
	}
}

func (l *opLimits) count(metric string, most *uint64) {
	if most != nil {
		l.add(metric, float64(*most))
	}
}

func (l *opLimits) rps(least *float64) {
	if least != nil {
		positive(l.check, l.path("rps"), *least, maxRate)
		l.add("rps", *least)
	}
}
