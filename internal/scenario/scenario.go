// Package scenario reads what a run is to do from a YAML file. It checks
// everything it can without a target, and knows nothing of targets, of clocks
// and of how load is made.
//
//  1. The file is decoded strictly into a mirror of its keys, in which nil is
//     "not given" (file.go); overrides of the command line are applied first.
//  2. Each part is filled in from the mirror: values are checked, defaults
//     take the place of what is not given (parts.go, phase.go, limits.go).
//  3. All errors of all steps are returned at once, each with its line.
package scenario

import (
	"time"

	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/result"
)

// Scenario is what to do: checked, with every default filled in.
type Scenario struct {
	Name, About     string
	Seed            uint64
	Ranking         ranking.Spec      // its Seed is the scenario's
	Order           string            // Ascending or Random: the order in which populate sends members
	Topology        *Topology         // nil where the scenario asks for none
	OutageThreshold time.Duration     // a gap between successes longer than this is an outage
	ErrorPause      time.Duration     // how long a closed-loop worker waits after an error
	Phases          []Phase           // at least one; they run one after another
	Drill           *Drill            // nil where the scenario has no steps
	Audit           bool              // acknowledged Sets are read back at the end
	Limits          []result.RunLimit // by operation in ranking.Kinds order, then those of the run
	Source          string            // the scenario as it will be run: YAML, overrides applied
}

// The orders in which populate can send the members.
const (
	Ascending = "ascending" // by score: the server appends at the end of its list, which is fastest
	Random    = "random"    // as live traffic would
)

// Topology is what the target must look like.
type Topology struct {
	Shards      int    // node groups, 1 … 90
	Replicas    int    // of each shard, 0 … 5
	ClusterMode string // Enabled, Disabled, or "" where it does not matter
}

// The cluster modes of a replication group.
const (
	Enabled  = "enabled"  // node groups that share the slots
	Disabled = "disabled" // one node group behind a primary endpoint and a reader endpoint
)

// Phase is a stretch of load.
type Phase struct {
	Name     string
	Warmup   time.Duration // not measured; comes before Duration
	Duration time.Duration // measured
	Ops      []Load        // in ranking.Kinds order, each kind at most once
}

// Load is how one kind of operation is sent during a phase.
type Load struct {
	Kind     ranking.Kind
	Workers  int           // operations in flight at most
	Rate     float64       // operations a second; 0 is a closed loop
	Patience time.Duration // open loop: what is later than this is not sent; 0 in a closed loop
	Count    int           // find: members an operation; find_by_order: rows; 0 for the others
	Zipf     float64       // exponent of Zipf's law for the choice of members; 0 is uniform
}

// Overrides are what the command line changes in a scenario.
type Overrides struct {
	Set      []string      // path=value, such as phases.0.duration=30s
	Duration time.Duration // of each phase; 0 leaves them as written
}
