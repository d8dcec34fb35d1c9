// Package compare makes tables of runs side by side. It is pure: it is given
// summaries and conditions, and knows nothing of folders, formats and screens.
//
//  1. Runs are put into groups by the conditions that differ between them; runs of
//     one group are repeats of one another (group.go).
//  2. The figures of each run are taken from its summary (figures.go), and those of
//     a group become a cell: mean, least and most over its repeats.
//  3. Each cell is held against the base's, and it is said whether they differ by
//     more than noise (difference.go), in words (words.go).
//
// Doubts travel with the figures: runs are marked, and so is every cell that a
// marked run counts for.
package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

// Condition is something that was set for a run, such as score_spread 100.
type Condition struct{ Key, Value string }

// Conditions are what a run was made under, in the order in which people read them.
type Conditions []Condition

// Get returns the value of a key, NotSet where there is none.
func (c Conditions) Get(key string) string {
	for _, x := range c {
		if x.Key == key {
			return x.Value
		}
	}
	return NotSet
}

// NotSet is the value of a condition that a run does not have.
const NotSet = "not set"

// MarshalJSON writes the conditions as one object.
func (c Conditions) MarshalJSON() ([]byte, error) {
	m := map[string]string{}
	for _, x := range c {
		m[x.Key] = x.Value
	}
	return json.Marshal(m)
}

// Run is a run that is to be compared.
type Run struct {
	Folder     string // its path, as the user gave it
	Parent     string // the name of the folder that holds it
	Conditions Conditions
	Summary    result.Summary
}

// Options say how runs are compared.
type Options struct {
	By   []string // the keys to group by; none: all that differ
	Base string   // the folder of a run of the base, or of a series; "": the first group is the base
}

// Mark is a reason to doubt a run's figures.
type Mark string

// The marks. Runs of which a step failed count for no figure, as in a series; of
// those that did not come to their end outages and losses do not count: what a
// run has not seen is not 0.
const (
	Bottleneck  Mark = "client_bottleneck"
	Interrupted Mark = "interrupted"
	Killed      Mark = "killed"
	FailedStep  Mark = "failed_step"
)

// Table is the comparison.
type Table struct {
	Version int        `json:"version"`
	Alpha   float64    `json:"alpha"`  // differences with a p up to this are more than noise
	By      []string   `json:"by"`     // the keys that the groups are told apart by
	Same    Conditions `json:"same"`   // what all runs have in common
	Groups  []Group    `json:"groups"` // the base first
	Rows    []Row      `json:"rows"`
	Notes   []string   `json:"notes"` // doubts about the comparison
}

// Group is runs under the same conditions.
type Group struct {
	Name       string     `json:"name"`       // its label; where labels are long, a letter
	Label      string     `json:"label"`      // by what it differs: "replicas 2, find.members 20"
	Conditions Conditions `json:"conditions"` // the keys of By
	Base       bool       `json:"base,omitempty"`
	Runs       []Repeat   `json:"runs"`
}

// Repeat is a run of a group.
type Repeat struct {
	Folder   string    `json:"folder"`
	Scenario string    `json:"scenario"`
	Started  time.Time `json:"started"`
	Marks    []Mark    `json:"marks,omitempty"`
	Why      string    `json:"why,omitempty"` // it is marked
}

// Row is one figure of all groups.
type Row struct {
	Of    string  `json:"of"`    // an operation, the nodes of a role, service, client, run
	Value string  `json:"value"` // rps, p99 …
	Unit  string  `json:"unit"`
	Cells []*Cell `json:"cells"` // one for each group, null where no run has the figure
}

// Zero says whether the figure is 0 in all runs that have it.
func (r Row) Zero() bool {
	return !slices.ContainsFunc(r.Cells, func(c *Cell) bool { return c != nil && (c.Min != 0 || c.Max != 0) })
}

// Cell is one figure of one group.
type Cell struct {
	N      int       `json:"n"`
	Values []float64 `json:"values"` // in the order of the group's runs
	Mean   float64   `json:"mean"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Marks  []Mark    `json:"marks,omitempty"` // of the runs that count
	// Ratio is the mean over the base's, absent where that is 0; it and the others are absent in the base.
	Ratio      *float64    `json:"ratio,omitempty"`
	Difference *Difference `json:"difference,omitempty"`
	Words      string      `json:"words,omitempty"`
}

// ErrUse says that what was asked for cannot be: another key or another base is to be given.
var ErrUse = errors.New("compare")

// Compare compares runs.
func Compare(runs []Run, o Options) (Table, error) {
	if err := checkRuns(runs); err != nil {
		return Table{}, err
	}
	g, err := group(runs, o.By)
	if err != nil {
		return Table{}, err
	}
	if err := g.baseFirst(o.Base); err != nil {
		return Table{}, err
	}
	t := Table{Version: result.Version, Alpha: alpha, By: g.by, Same: g.same, Rows: []Row{}, Notes: g.notes}
	for i, members := range g.groups {
		t.Groups = append(t.Groups, g.describe(members, i == 0 && len(g.groups) > 1))
	}
	name(t.Groups)
	t.Rows = rows(g.groups)
	for _, r := range t.Rows {
		t.hold(r)
	}
	return t, nil
}

func checkRuns(runs []Run) error {
	if len(runs) < 2 {
		return fmt.Errorf("%w: at least two runs are needed, here is %d (a series counts as its runs)", ErrUse, len(runs))
	}
	seen := map[string]bool{}
	for _, r := range runs {
		if seen[r.Folder] {
			return fmt.Errorf("%w: %s is given twice", ErrUse, r.Folder)
		}
		seen[r.Folder] = true
	}
	return nil
}

// hold holds the cells of a row against the base's.
func (t Table) hold(r Row) {
	base := r.Cells[0]
	for i, c := range r.Cells[1:] {
		if base == nil || c == nil {
			continue
		}
		if base.Mean != 0 {
			c.Ratio = new(c.Mean / base.Mean)
		}
		d := differ(base.Values, c.Values)
		c.Difference = &d
		c.Words = t.words(r, *base, *c, t.Groups[i+1])
	}
}

// marks are a run's, with their reasons.
func marks(s result.Summary) (marks []Mark, why string) {
	var reasons []string
	add := func(m Mark, reason string) { marks, reasons = append(marks, m), append(reasons, reason) }
	if s.Client.Bottleneck {
		add(Bottleneck, s.Client.Reason)
	}
	switch {
	case s.Interrupted:
		add(Interrupted, fmt.Sprintf("interrupted after %.1f s", s.DurationS))
	case !s.Complete:
		add(Killed, fmt.Sprintf("killed after %.1f s", s.DurationS))
	}
	if len(s.FailedSteps) > 0 {
		add(FailedStep, strings.Join(s.FailedSteps, "; "))
	}
	return marks, strings.Join(reasons, "; ")
}

// cellOf is the cell of the values that runs have for a figure, nil without any.
func cellOf(runs []counted, r Row) *Cell {
	var c Cell
	for _, run := range runs {
		if v, ok := run.figures.get(r.Of, r.Value); ok {
			c.Values = append(c.Values, v)
			c.Marks = append(c.Marks, run.marks...)
		}
	}
	if c.N = len(c.Values); c.N == 0 {
		return nil
	}
	slices.Sort(c.Marks)
	c.Marks = slices.Compact(c.Marks)
	c.Min, c.Max = slices.Min(c.Values), slices.Max(c.Values)
	for _, v := range c.Values {
		c.Mean += v / float64(c.N)
	}
	c.Mean = min(max(c.Mean, c.Min), c.Max) // sums are rounded
	return &c
}
