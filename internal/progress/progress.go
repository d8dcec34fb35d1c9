// Package progress says how far a run is while it goes on: what the line below a
// terminal's output and the live page show. It is fed what is written to the run's
// folder, at the time it is written, and knows neither a clock nor a screen.
package progress

import (
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// Step is a step of a drill as planned: at an offset from the run's start, or so
// long after the one before has recovered.
type Step struct {
	After bool
	AtS   float64 // an offset, or with After a delay
	What  string
}

// Status is how far a run is.
type Status struct {
	State    string  `json:"state"`     // load, after (the load is over, what its steps began is not)
	ElapsedS float64 `json:"elapsed_s"` // since the run's start
	PlannedS float64 `json:"planned_s"` // of the load
	Phase    string  `json:"phase"`
	Warmup   bool    `json:"warmup"`
	Ops      []Rate  `json:"ops"`  // of the phase, in the second before
	Past     []int64 `json:"past"` // successes a second of all operations, the last second last
	Failed   uint64  `json:"failed"`
	// Failing is how many operations failed or were not sent in the second before, Failed in all.
	Failing uint64 `json:"failing"`
	Next    string `json:"next,omitempty"`
	// NextInS is when the next step begins; absent where it waits for the one before.
	NextInS *float64 `json:"next_in_s,omitempty"`
}

// Rate is successes a second of one operation.
type Rate struct {
	Op  string  `json:"op"`
	RPS float64 `json:"rps"`
}

// States of a run.
const (
	Load  = "load"
	After = "after"
)

// pastS is how many seconds of successes a status holds.
const pastS = 60

// shortS is the shortest interval that a rate is told of: one that was cut at a
// phase's border says little.
const shortS = 0.5

// Follower follows a run. It is for one goroutine.
type Follower struct {
	phases    []result.RunPhase
	steps     []Step
	begun     int     // steps
	recovered float64 // when the last step had
	status    Status
}

// New returns a follower of a run with these steps, none of a load.
func New(run result.Run, steps []Step) *Follower {
	f := &Follower{phases: run.Phases, steps: steps, status: Status{State: Load, Ops: []Rate{}, Past: []int64{}}}
	for _, p := range run.Phases {
		f.status.PlannedS += p.WarmupS + p.DurationS
	}
	return f
}

// Interval takes a line of intervals.ndjson.
func (f *Follower) Interval(iv result.Interval) {
	s := &f.status
	s.ElapsedS = max(s.ElapsedS, iv.ToS)
	if iv.Phase < 0 || iv.Phase >= len(f.phases) {
		s.State, s.Phase, s.Warmup, s.Ops = After, "", false, []Rate{}
		return
	}
	p := f.phases[iv.Phase]
	s.Phase = p.Name
	ok, failing, length := map[string]uint64{}, uint64(0), iv.ToS-iv.FromS
	for _, c := range iv.Cells {
		ok[c.Op] += c.OK
		failing += c.Unsent
		for _, e := range c.Errors {
			failing += e.N
		}
		s.Warmup = c.Warmup
	}
	s.Failed += failing
	if iv.Mark != nil || length < shortS {
		return
	}
	s.Failing = failing
	s.rates(p.Ops, ok, length)
}

func (s *Status) rates(ops []string, ok map[string]uint64, length float64) {
	total := 0.0
	s.Ops = make([]Rate, 0, len(ops))
	for _, op := range ops {
		rps := float64(ok[op]) / length
		s.Ops, total = append(s.Ops, Rate{op, rps}), total+rps
	}
	s.Past = append(s.Past, int64(total+0.5))
	s.Past = s.Past[max(0, len(s.Past)-pastS):]
}

// Event takes a line of events.ndjson.
func (f *Follower) Event(e result.Event) {
	switch e.Kind {
	case result.StepBegins:
		f.begun++
		f.recovered = -1
	case result.StepRecovered:
		f.recovered = e.AtS
	}
}

// Status is how far the run is as of the last interval. It shares nothing with
// the follower.
func (f *Follower) Status() Status {
	s := f.status
	s.Ops, s.Past = slices.Clone(s.Ops), slices.Clone(s.Past)
	if s.State != Load || f.begun >= len(f.steps) {
		return s
	}
	next := f.steps[f.begun]
	s.Next = next.What
	switch {
	case !next.After:
		in := max(0, next.AtS-s.ElapsedS)
		s.NextInS = &in
	case f.recovered >= 0:
		in := max(0, f.recovered+next.AtS-s.ElapsedS)
		s.NextInS = &in
	}
	return s
}

// RemainingS is how long the load goes on, as planned.
func (s Status) RemainingS() float64 { return max(0, s.PlannedS-s.ElapsedS) }
