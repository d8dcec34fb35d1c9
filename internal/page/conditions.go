package page

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/legible"
	"github.com/rankbench/rankbench/internal/result"
)

// conditions are the facts that most decide the figures, in short.
func conditions(run result.Run, sum result.Summary) []string {
	short := []string{topology(run, sum), client(run)}
	for _, name := range []string{"server", "go-redis", "rankbench"} {
		if v := run.Versions[name]; v != "" {
			short = append(short, clean(version(name, v)))
		}
	}
	return short
}

// clientLoadFact is the one that is known at the end alone.
const clientLoadFact = "Client's load"

// facts are the conditions in full: topology, client settings, versions.
func facts(run result.Run, sum result.Summary) []fact {
	out := []fact{
		{"Topology", topology(run, sum)},
		{"Replication group", group(run)},
		{"Addresses", clean(strings.Join(texts(dig(run.Config, "target", "addresses")), ", "))},
		{"Client", client(run)},
		{"Client settings", clean(clientSettings(run))},
		{clientLoadFact, clientLoad(sum.Client)},
		{"Load from", clean(host(run.Host))},
		{"Versions", clean(versions(run.Versions))},
		{"Phases", clean(plan(run.Phases))},
		{"Outage", fmt.Sprintf("from %.3g s without a success on", run.OutageThresholdS)},
		{"Seed", fmt.Sprint(run.Seed)},
	}
	return slices.DeleteFunc(out, func(f fact) bool { return f.Value == "" })
}

// group is "lb in us-east-1, cache.r7g.large, redis 7.1.0" of a drill.
func group(run result.Run) string {
	aws := dig(run.Config, "aws")
	if aws == nil {
		return ""
	}
	text := fmt.Sprintf("%v in %v", orText(dig(aws, "replication_group")), orText(dig(aws, "region")))
	if !run.Local { // of local nodes the type says nothing
		text += fmt.Sprintf(", %v, %v", orText(dig(aws, "node_type")), orText(dig(aws, "engine")))
	}
	return clean(text)
}

func client(run result.Run) string {
	return clean(fmt.Sprintf("client profile %v, reads from %s", orText(dig(run.Config, "client", "profile")), run.ReadFrom))
}

func host(h result.Host) string {
	return fmt.Sprintf("%s, %d processors, %s %s, %s", h.CPU, h.CPUs, h.OS, h.Arch, size(float64(h.MemBytes)))
}

// topology is "mode cluster, 1 primary + 2 replicas at the start".
func topology(run result.Run, sum result.Summary) string {
	byRole := map[string]int{}
	for _, n := range sum.Nodes {
		if len(n.Roles) > 0 && n.Roles[0].FromS < startS {
			byRole[n.Roles[0].Role]++
		}
	}
	text := fmt.Sprintf("mode %v", orText(dig(run.Config, "target", "mode")))
	var roles []string
	for _, role := range slices.Sorted(maps.Keys(byRole)) {
		roles = append(roles, several(byRole[role], role))
	}
	if len(roles) > 0 {
		text += ", " + strings.Join(roles, " + ") + " at the start"
	}
	return clean(text)
}

// several is "1 primary", "2 primaries", "2 replicas", "1 unreachable".
func several(n int, role string) string {
	many := map[string]string{"primary": "primaries", "replica": "replicas"}[role]
	if n == 1 || many == "" {
		many = role
	}
	return fmt.Sprintf("%d %s", n, many)
}

// startS is until when a node that is seen was there from the start, seconds.
const startS = 2

// told are the driver's options that decide how it gets through a failover.
var told = []string{"dial_timeout", "read_timeout", "write_timeout", "pool_timeout", "pool_size", "max_retries", "max_redirects", "cluster_state_reload_interval", "conn_max_lifetime"}

func clientSettings(run result.Run) string {
	var out []string
	for _, name := range told {
		if v := dig(run.Config, "client", "effective", name); v != nil {
			out = append(out, fmt.Sprintf("%s %v", name, v))
		}
	}
	return strings.Join(out, ", ")
}

func clientLoad(c result.Client) string {
	text := fmt.Sprintf("%.0f %% of one processor, scheduler p99 %s, pool waits %s", c.CPUPct, micros(c.SchedUSP99), legible.Grouped(int64(c.PoolWaits)))
	if c.Bottleneck {
		text = "THE CLIENT WAS THE BOTTLENECK: " + clean(c.Reason) + "; " + text
	}
	return text
}

func versions(v map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		out = append(out, version(name, v[name]))
	}
	return strings.Join(out, ", ")
}

// version is "go 1.26.8", though Go itself says "go1.26.8", and "redis 7.0.15" of the server.
func version(name, v string) string {
	if name == "server" {
		return v
	}
	return name + " " + strings.TrimPrefix(v, name)
}

func plan(phases []result.RunPhase) string {
	var out []string
	for _, p := range phases {
		text := fmt.Sprintf("%s: %s of %s", p.Name, time.Duration(p.DurationS*float64(time.Second)).Round(time.Millisecond), strings.Join(p.Ops, ", "))
		if p.WarmupS > 0 {
			text += fmt.Sprintf(" after %.3g s of warm-up", p.WarmupS)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// dig follows keys into what was read as JSON, nil where there is nothing.
func dig(v any, keys ...string) any {
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

func orText(v any) string {
	if v == nil {
		return "not known"
	}
	return fmt.Sprint(v)
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, x := range list {
		out = append(out, fmt.Sprint(x))
	}
	return out
}

func settings(run result.Run) string {
	b, err := json.MarshalIndent(run.Config, "", "  ")
	if err != nil {
		return ""
	}
	return cleanLines(string(b), 64<<10)
}
