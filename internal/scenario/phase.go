package scenario

import (
	"fmt"
	"math"
	"strings"

	"github.com/rankbench/rankbench/internal/ranking"
)

func (c check) phases(keys []phaseKeys, r ranking.Spec) []Phase {
	if c.doc.Has("phases") && len(keys) == 0 {
		c.doc.Errorf("phases", "has no phase; at least one is needed")
	}
	phases := make([]Phase, len(keys))
	seen := map[string]int{}
	for i, k := range keys {
		path := fmt.Sprintf("phases.%d", i)
		phases[i] = c.phase(path, i, k, r)
		if first, twice := seen[phases[i].Name]; twice {
			c.doc.Errorf(path+".name", "%q is the name of phases.%d as well", phases[i].Name, first)
		}
		seen[phases[i].Name] = i
	}
	return phases
}

func (c check) phase(path string, i int, k phaseKeys, r ranking.Spec) Phase {
	p := Phase{Name: k.Name, Warmup: k.Warmup, Duration: or(k.Duration, 1), Ops: c.ops(path+".ops", k.Ops, r)}
	if !c.doc.Has(path + ".name") {
		p.Name = fmt.Sprintf("phase-%d", i+1)
	}
	c.name(path+".name", p.Name)
	within(c, path+".warmup", p.Warmup, 0, maxDuration)
	positive(c, path+".duration", p.Duration, maxDuration)
	return p
}

// ops returns the loads in ranking.Kinds order.
func (c check) ops(path string, k opsKeys, r ranking.Spec) []Load {
	var loads []Load
	if k.Set != nil {
		loads = append(loads, c.byMember(path, ranking.Set, *k.Set, r))
	}
	if k.Get != nil {
		loads = append(loads, c.byMember(path, ranking.Get, *k.Get, r))
	}
	if k.Find != nil {
		loads = append(loads, c.find(path, *k.Find, r))
	}
	if k.FindByOrder != nil {
		loads = append(loads, c.page(path, *k.FindByOrder, r))
	}
	if c.doc.Has(path) && len(loads) == 0 {
		c.doc.Errorf(path, "has no operation; write get: {} for one with its defaults")
	}
	return loads
}

func (c check) byMember(path string, kind ranking.Kind, k memberKeys, r ranking.Spec) Load {
	l := c.load(path, kind, k.loadKeys)
	l.Zipf = or(k.Zipf, 0)
	if _, err := ranking.NewChooser(max(1, r.Members), l.Zipf, r.Seed); err != nil {
		c.doc.Errorf(at(path, kind)+".zipf", "%s", strings.TrimPrefix(err.Error(), "zipf: "))
	}
	return l
}

func (c check) find(path string, k findKeys, r ranking.Spec) Load {
	l := c.byMember(path, ranking.Find, k.memberKeys, r)
	l.Count = c.count(at(path, ranking.Find)+".members", k.Members, r)
	return l
}

func (c check) page(path string, k pageKeys, r ranking.Spec) Load {
	l := c.load(path, ranking.FindByOrder, k.loadKeys)
	l.Count = c.count(at(path, ranking.FindByOrder)+".rows", k.Rows, r)
	return l
}

// count is how many members or rows an operation asks for: no more than there
// are. The default shrinks with the ranking.
func (c check) count(path string, given *int, r ranking.Spec) int {
	n := or(given, int(max(1, min(defaultCount, r.Members))))
	within(c, path, n, 1, maxCount)
	if n <= maxCount && r.Members >= 1 && int64(n) > r.Members {
		c.doc.Errorf(path, "%d is above ranking.members, which is %d", n, r.Members)
	}
	return n
}

func (c check) load(path string, kind ranking.Kind, k loadKeys) Load {
	l := Load{Kind: kind, Rate: or(k.Rate, 0)}
	path = at(path, kind)
	if k.Rate == nil {
		l.Workers = or(k.Workers, defaultWorkers)
		c.closedLoop(path)
	} else {
		l.Workers = or(k.Workers, workersFor(l.Rate))
		l.Patience = or(k.Patience, defaultPatience)
		positive(c, path+".rate", l.Rate, maxRate)
		positive(c, path+".patience", l.Patience, maxDuration)
	}
	within(c, path+".workers", l.Workers, 1, maxWorkers)
	return l
}

// closedLoop reports keys that mean nothing without a rate.
func (c check) closedLoop(path string) {
	if c.doc.Has(path+".patience") && !c.doc.Has(path+".rate") {
		c.doc.Errorf(path+".patience", "needs a rate: without one nothing is ever due, so nothing is late")
	}
}

// workersFor is the default for a rate: enough for answers that take 10 ms,
// and some more for the first connections.
func workersFor(rate float64) int {
	return int(math.Ceil(max(16, min(1000, rate/100))))
}

func at(path string, kind ranking.Kind) string { return path + "." + kind.String() }
