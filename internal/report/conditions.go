package report

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/scenario"
)

// conditions are what a run was made under: its scenario with all defaults, its
// client, its servers, its host. Seeds are chance, and limits measure nothing: runs
// that differ in them alone are repeats.
func conditions(run result.Run, s result.Summary) compare.Conditions {
	c := conditionList{{Key: "scenario", Value: run.Scenario}, {Key: "command", Value: run.Command}}
	c.scenario(run, s)
	c.client(run)
	c.servers(run)
	h := run.Host
	c.add("host", fmt.Sprintf("%s, %s/%s, %d processors %s", h.Name, h.OS, h.Arch, h.CPUs, h.CPU))
	for _, k := range slices.Sorted(maps.Keys(run.Versions)) {
		c.add(k, run.Versions[k])
	}
	return compare.Conditions(c)
}

type conditionList compare.Conditions

func (c *conditionList) add(key string, value any) {
	*c = append(*c, compare.Condition{Key: key, Value: fmt.Sprint(value)})
}

// scenario adds what the scenario says. One that this rankbench cannot read (of a
// newer one) tells no more than whether it is the same.
func (c *conditionList) scenario(run result.Run, s result.Summary) {
	sc, err := scenario.Parse("scenario", []byte(run.Source), scenario.Overrides{})
	if err != nil {
		c.add("scenario_text", fmt.Sprintf("%x", sha256.Sum256([]byte(run.Source)))[:12])
		return
	}
	c.add("members", sc.Ranking.Members)
	c.add("score_spread", sc.Ranking.ScoreSpread)
	c.add("member_format", sc.Ranking.MemberFormat)
	c.topology(sc.Topology, s)
	c.phases(sc.Phases)
	if sc.Drill != nil && run.Command == "drill" {
		c.add("steps", steps(sc.Drill.Steps))
	}
	c.add("audit", sc.Audit)
	c.add("error_pause", sc.ErrorPause)
	c.add("outage_threshold", sc.OutageThreshold)
}

// topology is what the scenario required of the target; without that, what the
// nodes were at first.
func (c *conditionList) topology(t *scenario.Topology, s result.Summary) {
	if t != nil {
		c.add("shards", t.Shards)
		c.add("replicas", t.Replicas)
		return
	}
	primaries, replicas := 0, 0
	for _, n := range s.Nodes {
		switch {
		case len(n.Roles) == 0 || n.Roles[0].FromS > 0:
		case n.Roles[0].Role == "primary":
			primaries++
		case n.Roles[0].Role == "replica":
			replicas++
		}
	}
	if primaries > 0 {
		c.add("shards", primaries)
		c.add("replicas", strconv.FormatFloat(float64(replicas)/float64(primaries), 'g', 3, 64))
	}
}

// phases adds how the load is made. What differs between the phases is listed.
func (c *conditionList) phases(phases []scenario.Phase) {
	var texts []string
	for _, p := range phases {
		text := fmt.Sprintf("%s %s", p.Name, p.Duration)
		if p.Warmup > 0 {
			text += fmt.Sprintf(" after %s", p.Warmup)
		}
		texts = append(texts, text)
	}
	c.add("phases", strings.Join(texts, ", "))
	for _, k := range ranking.Kinds() {
		c.load(k, phases)
	}
}

// load adds the settings of one kind of operation.
func (c *conditionList) load(k ranking.Kind, phases []scenario.Phase) {
	var workers, rate, count, zipf []string
	for _, p := range phases {
		for _, l := range p.Ops {
			if l.Kind == k {
				workers = addNew(workers, float64(l.Workers))
				rate, count, zipf = addNew(rate, l.Rate), addNew(count, float64(l.Count)), addNew(zipf, l.Zipf)
			}
		}
	}
	asked := map[ranking.Kind]string{ranking.Find: ".members", ranking.FindByOrder: ".rows"}
	for _, x := range []struct {
		key    string
		values []string
	}{{".workers", workers}, {".rate", rate}, {asked[k], count}, {".zipf", zipf}} {
		if text := strings.Join(x.values, ", "); x.key != "" && text != "" && text != "0" {
			c.add(k.String()+x.key, text)
		}
	}
}

func addNew(list []string, v float64) []string {
	if text := strconv.FormatFloat(v, 'f', -1, 64); !slices.Contains(list, text) {
		return append(list, text)
	}
	return list
}

// steps is "test_failover 0001 at 2m0s, increase_replicas to 3 1m0s after recovery".
func steps(all []scenario.Step) string {
	var texts []string
	for _, s := range all {
		text := s.Kind
		for _, word := range append([]string{s.NodeGroup, s.Role, s.Expect}, s.Nodes...) {
			if word != "" {
				text += " " + word
			}
		}
		if s.Count > 0 {
			text += fmt.Sprintf(" to %d", s.Count)
		}
		if s.For > 0 {
			text += fmt.Sprintf(" %s", s.For)
		}
		texts = append(texts, text+" "+when(s))
	}
	return strings.Join(texts, ", ")
}

func when(s scenario.Step) string {
	switch {
	case s.After == "":
		return fmt.Sprintf("at %s", s.At)
	case s.Delay > 0:
		return fmt.Sprintf("%s after recovery", s.Delay)
	}
	return "after recovery"
}

// client adds the driver's settings: the profile, and what was set over it.
func (c *conditionList) client(run result.Run) {
	c.add("read_from", run.ReadFrom)
	client := within(run.Config, "client")
	if p, ok := client["profile"]; ok {
		c.add("client.profile", p)
	}
	options := within(client, "options")
	for _, k := range slices.Sorted(maps.Keys(options)) {
		c.add("client."+k, options[k])
	}
}

// servers adds what the load went against. Local ones have new addresses each time.
func (c *conditionList) servers(run result.Run) {
	target := within(run.Config, "target")
	c.add("mode", target["mode"])
	c.add("tls", target["tls"])
	addrs := addresses(target)
	if run.Local || local(addrs) {
		addrs = []string{"local"}
	}
	c.add("target", strings.Join(addrs, ", "))
	if t, ok := within(run.Config, "aws")["node_type"]; ok && !run.Local { // of local nodes it says nothing
		c.add("node_type", t)
	}
}

func addresses(target map[string]any) []string {
	var out []string
	list, _ := target["addresses"].([]any)
	for _, a := range append(list, target["primary"], target["reader"]) {
		if text, ok := a.(string); ok && text != "" {
			out = append(out, text)
		}
	}
	return out
}

func local(addrs []string) bool {
	return len(addrs) > 0 && !slices.ContainsFunc(addrs, func(a string) bool {
		return !strings.HasPrefix(a, "127.") && !strings.HasPrefix(a, "[::1]") && !strings.HasPrefix(a, "localhost:")
	})
}

// within is an object in a document, nil where there is none.
func within(doc map[string]any, key string) map[string]any {
	m, _ := doc[key].(map[string]any)
	return m
}
