package run

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/analyze"
	"github.com/rankbench/rankbench/internal/plan"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/scenario"
)

// Description is what Load would do, for `rankbench plan`.
type Description struct {
	Scenario string             `json:"scenario"`
	About    string             `json:"about,omitempty"`
	Seed     uint64             `json:"seed"`
	Ranking  DescribedRanking   `json:"ranking"`
	Topology *DescribedTopology `json:"topology,omitempty"` // required of the target
	Target   string             `json:"target,omitempty"`   // "" where none is given
	Phases   []DescribedPhase   `json:"phases"`
	EndS     float64            `json:"end_s"`
	Steps    []DescribedStep    `json:"steps,omitempty"` // of the drill
	Repeat   int                `json:"repeat,omitempty"`
	Audit    bool               `json:"audit"`
	Limits   []DescribedLimit   `json:"limits,omitempty"`
}

// DescribedRanking is the sorted set.
type DescribedRanking struct {
	Key          string `json:"key"`
	Members      int64  `json:"members"`
	ScoreSpread  int64  `json:"score_spread"`
	MemberFormat string `json:"member_format"`
}

// DescribedTopology is what the scenario requires.
type DescribedTopology struct {
	Shards      int    `json:"shards"`
	Replicas    int    `json:"replicas"`
	ClusterMode string `json:"cluster_mode,omitempty"`
}

// DescribedPhase is a phase; AtS is the offset of its start, seconds.
type DescribedPhase struct {
	result.RunPhase
	AtS     float64           `json:"at_s"`
	Workers map[string]int    `json:"workers"`
	How     map[string]string `json:"how"`
}

// DescribedStep is a step of a drill.
type DescribedStep struct {
	When string `json:"when"` // an offset, or after what
	What string `json:"what"`
}

// DescribedLimit is a bound.
type DescribedLimit struct {
	Name string `json:"name"`
	Want string `json:"want"`
}

// Describe says what Load would do. It touches nothing.
func Describe(o Options) (Description, error) {
	pl, err := plan.Build(o.Scenario)
	if err != nil {
		return Description{}, err
	}
	sc := o.Scenario
	d := Description{
		Scenario: sc.Name, About: strings.TrimSpace(sc.About), Seed: sc.Seed,
		Ranking: DescribedRanking{sc.Ranking.Key, sc.Ranking.Members, sc.Ranking.ScoreSpread, sc.Ranking.MemberFormat},
		Phases:  describePhases(sc, pl), EndS: planned(pl).Seconds(),
	}
	d.Audit = sc.Audit
	if sc.Drill != nil {
		d.Steps, d.Repeat = describeSteps(sc.Drill), sc.Drill.Repeat
	}
	if t := sc.Topology; t != nil {
		d.Topology = &DescribedTopology{t.Shards, t.Replicas, t.ClusterMode}
	}
	if o.Config != nil {
		d.Target = o.Config.String()
	}
	for _, l := range sc.Limits {
		name, want := analyze.Wanted(l)
		d.Limits = append(d.Limits, DescribedLimit{name, want})
	}
	return d, nil
}

func describePhases(sc *scenario.Scenario, pl *plan.Plan) []DescribedPhase {
	var out []DescribedPhase
	at := time.Duration(0)
	for i, rp := range phasesOf(sc) {
		p := DescribedPhase{RunPhase: rp, AtS: at.Seconds(), Workers: map[string]int{}, How: map[string]string{}}
		for _, j := range pl.Phases[i].Jobs {
			p.Workers[j.Kind.String()], p.How[j.Kind.String()] = j.Workers, describeJob(j)
		}
		out = append(out, p)
		at += pl.Phases[i].End()
	}
	return out
}

func describeSteps(d *scenario.Drill) []DescribedStep {
	var out []DescribedStep
	for _, s := range d.Steps {
		when := s.At.String()
		if s.After != "" {
			when = "then"
			if s.Delay > 0 {
				when += " +" + s.Delay.String()
			}
		}
		out = append(out, DescribedStep{when, describeStep(s)})
	}
	return out
}

// describeStep is "decrease_replicas of 0001 to 1, restored at the end".
func describeStep(s scenario.Step) string {
	text := s.Kind
	if s.NodeGroup != "" {
		text += " of " + s.NodeGroup
	}
	switch {
	case len(s.Nodes) > 0:
		text += " " + strings.Join(s.Nodes, ", ")
	case s.Role != "":
		text += " the " + s.Role
	case s.Kind == scenario.Wait:
		text += " " + s.For.String()
	case s.Kind != scenario.TestFailover:
		text += fmt.Sprintf(" to %d", s.Count)
	}
	if s.Restore {
		text += ", restored at the end"
	}
	if s.Expect != "" {
		text += ", which is to be " + s.Expect
	}
	return text
}

func describeJob(j plan.Job) string {
	if j.Rate > 0 {
		return fmt.Sprintf("%g/s by %d workers, patience %s", j.Rate, j.Workers, j.Patience)
	}
	return fmt.Sprintf("%d workers, as fast as answers come", j.Workers)
}

// Text writes the description for people.
func (d Description) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "scenario %s: %s\n", d.Scenario, d.About)
	fmt.Fprintf(&b, "ranking %q: %d members, scores on %d distinct values, seed %d\n", d.Ranking.Key, d.Ranking.Members, d.Ranking.ScoreSpread, d.Seed)
	if t := d.Topology; t != nil {
		fmt.Fprintf(&b, "requires %d shards with %d replicas each", t.Shards, t.Replicas)
		if t.ClusterMode != "" {
			fmt.Fprintf(&b, ", cluster mode %s", t.ClusterMode)
		}
		b.WriteString("\n")
	}
	if d.Target != "" {
		fmt.Fprintf(&b, "target: %s\n", d.Target)
	}
	for _, p := range d.Phases {
		fmt.Fprintf(&b, "%8s  phase %s: warm-up %s, measured %s\n", ofSeconds(p.AtS), p.Name, ofSeconds(p.WarmupS), ofSeconds(p.DurationS))
		for _, op := range p.Ops {
			fmt.Fprintf(&b, "          %-14s %s\n", op, p.How[op])
		}
	}
	fmt.Fprintf(&b, "%8s  end\n", ofSeconds(d.EndS))
	for _, s := range d.Steps {
		fmt.Fprintf(&b, "%8s  step: %s\n", s.When, s.What)
	}
	if d.Repeat > 1 {
		fmt.Fprintf(&b, "the whole %d times\n", d.Repeat)
	}
	if d.Audit {
		b.WriteString("acknowledged writes are read back at the end\n")
	}
	for _, l := range d.Limits {
		fmt.Fprintf(&b, "limit %s %s\n", l.Name, l.Want)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func ofSeconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}
