package analyze

import (
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// Figures are those of several runs of one drill, with their mean and spread. A
// run that has no such figure (no outage is 0, not none) is left out of it.
func Figures(runs []result.Summary) []result.Figure {
	var c figures
	for _, s := range runs {
		c.ops(s)
		for _, op := range opNames(s) {
			c.outages(s, op)
			c.levels(op, s.Levels[op])
		}
		for _, o := range []string{"write", "read"} {
			c.add("service."+o+".outage", "s", longestService(o, s.ServiceOutages))
		}
		if a := s.Audit; a != nil {
			c.add("lost_writes", "", float64(a.Lost))
			c.add("indeterminate", "", float64(a.Indeterminate))
		}
		c.steps(s)
	}
	return c.list
}

type figures struct{ list []result.Figure }

func (c *figures) add(name, unit string, v float64) {
	i := slices.IndexFunc(c.list, func(f result.Figure) bool { return f.Name == name })
	if i < 0 {
		i = len(c.list)
		c.list = append(c.list, result.Figure{Name: name, Unit: unit})
	}
	f := &c.list[i]
	f.Values = append(f.Values, v)
	f.Min, f.Max = slices.Min(f.Values), slices.Max(f.Values)
	f.Mean = 0
	for _, x := range f.Values {
		f.Mean += x / float64(len(f.Values))
	}
}

// ops adds each operation's figures over the phases, which have names of their own.
func (c *figures) ops(s result.Summary) {
	for _, p := range s.Phases {
		for _, op := range opNames(s) {
			o, ok := p.Ops[op]
			if !ok {
				continue
			}
			name := op
			if len(s.Phases) > 1 {
				name = p.Name + "." + op
			}
			c.add(name+".rps", "1/s", o.RPS)
			c.add(name+".p99", "us", o.LatencyUS.P99)
			c.add(name+".failed", "", float64(o.Due-o.OK))
		}
	}
}

// opNames are the operations of a run, in the order of their phases.
func opNames(s result.Summary) []string {
	var names []string
	for _, op := range []string{"set", "get", "find", "find_by_order"} {
		if ran(op, s.Phases) {
			names = append(names, op)
		}
	}
	return names
}

// outages adds the longest outage of an operation and its parts.
func (c *figures) outages(s result.Summary, op string) {
	var longest result.Outage
	for _, o := range s.Outages {
		if o.Op == op && o.DurationS-o.PausedS > longest.DurationS-longest.PausedS {
			longest = o
		}
	}
	c.add(op+".outage", "s", micro(longest.DurationS-longest.PausedS))
	if longest.ServiceS != nil {
		c.add(op+".outage.service", "s", *longest.ServiceS)
		c.add(op+".outage.client", "s", *longest.ClientS)
	}
}

func (c *figures) levels(op string, l result.Level) {
	for _, v := range []struct {
		name string
		rps  *float64
	}{{"baseline", l.BaselineRPS}, {"degraded", l.DegradedRPS}, {"restored", l.RestoredRPS}} {
		if v.rps != nil {
			c.add(op+"."+v.name, "1/s", *v.rps)
		}
	}
	for _, v := range []struct {
		name    string
		seconds *float64
	}{{"back_to_p99", l.BackToP99S}, {"below_half", l.BelowHalfS}, {"errors_above_1pct", l.ErrorsAbove1PctS}} {
		if v.seconds != nil {
			c.add(op+"."+v.name, "s", *v.seconds)
		}
	}
}

func longestService(what string, all []result.ServiceOutage) float64 {
	longest := 0.0
	for _, o := range all {
		if o.What == what {
			longest = max(longest, o.DurationS)
		}
	}
	return longest
}

// steps adds how long each step took from its beginning until all was healthy.
func (c *figures) steps(s result.Summary) {
	began := 0.0
	for _, e := range s.Events {
		switch e.Kind {
		case result.StepBegins:
			began = e.AtS
		case result.StepRecovered:
			c.add("step."+e.Subject, "s", micro(e.AtS-began))
		}
	}
}
