// Package plan turns a scenario into what the engine runs: phases, each with
// its jobs, each job a schedule and a source of operations. It is pure: no
// clock, no I/O, no goroutine; Build gives the same plan for the same scenario.
//
//  1. Build makes the ranking and one Phase for each of the scenario's.
//  2. A Job says which operations, by how many workers, and when they are due:
//     as fast as answers come (closed loop) or by a Schedule (open loop).
//  3. A Source makes operation n, whoever runs it: same seed, same n, same operation.
package plan

import (
	"fmt"
	"time"

	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/scenario"
)

// Plan is a whole run of load.
type Plan struct {
	Ranking *ranking.Ranking
	Phases  []Phase
}

// Phase is a stretch of load. Its jobs run side by side from offset 0 (of the
// phase) to End; operations due before Warmup are not part of its figures.
type Phase struct {
	Name             string
	Warmup, Duration time.Duration
	Jobs             []Job
}

// End is the offset from the phase's start at which no more operations come due.
func (p Phase) End() time.Duration { return p.Warmup + p.Duration }

// Workers is the number of workers of all jobs: the most operations in flight.
func (p Phase) Workers() int {
	n := 0
	for _, j := range p.Jobs {
		n += j.Workers
	}
	return n
}

// Job is one kind of operation in one phase.
type Job struct {
	Kind       ranking.Kind
	Workers    int
	Rate       float64       // operations a second; 0 is a closed loop
	Schedule   Schedule      // nil for a closed loop
	Patience   time.Duration // open loop: an operation later than this is unsent
	ErrorPause time.Duration // closed loop: wait after an error, so that a refused port is no busy loop
	Count      int           // members of a Find, rows of a FindByOrder
	Source     Source
}

// Build plans the scenario.
func Build(sc *scenario.Scenario) (*Plan, error) { return BuildRepeat(sc, 0) }

// BuildRepeat plans a further run of a scenario on the same ranking, counted from
// 0. Its operations are others: what a run of the same ones has left would be
// taken for what this one has done.
func BuildRepeat(sc *scenario.Scenario, repeat int) (*Plan, error) {
	r, err := ranking.New(sc.Ranking)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", sc.Name, err)
	}
	p := &Plan{Ranking: r}
	for i, ph := range sc.Phases {
		phase, err := buildPhase(sc, r, i+repeat*len(sc.Phases), ph)
		if err != nil {
			return nil, fmt.Errorf("plan %s: phase %s: %w", sc.Name, ph.Name, err)
		}
		p.Phases = append(p.Phases, phase)
	}
	return p, nil
}

func buildPhase(sc *scenario.Scenario, r *ranking.Ranking, index int, ph scenario.Phase) (Phase, error) {
	out := Phase{Name: ph.Name, Warmup: ph.Warmup, Duration: ph.Duration}
	for _, l := range ph.Ops {
		choose, err := ranking.NewChooser(r.Members, l.Zipf, sc.Seed)
		if err != nil {
			return out, err
		}
		job := Job{
			Kind: l.Kind, Workers: l.Workers, Rate: l.Rate, Patience: l.Patience,
			ErrorPause: sc.ErrorPause, Count: l.Count,
			Source: &source{ranking: r, kind: l.Kind, count: l.Count, choose: choose, seed: jobSeed(sc.Seed, index, l.Kind)},
		}
		if l.Rate > 0 {
			job.Schedule = Rate{PerSecond: l.Rate, For: out.End()}
		}
		out.Jobs = append(out.Jobs, job)
	}
	return out, nil
}

// jobSeed gives every job of a scenario a stream of its own (phases are counted on
// through its repeats), so that Set and Get of one phase, or Set of two, do not
// touch the same members in the same order.
func jobSeed(seed uint64, phase int, k ranking.Kind) uint64 {
	s := ranking.NewStream(seed, uint64(phase)*ranking.NumKinds+uint64(k))
	return s.Uint64()
}
