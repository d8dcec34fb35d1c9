package report

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/rankbench/rankbench/internal/analyze"
	"github.com/rankbench/rankbench/internal/result"
)

// Summarize makes the summary of a run's folder from its run.json, intervals
// and events. The folder of a killed run gives what it had up to then, a damaged
// one what comes before the damage; its summary says so.
func Summarize(path string) (result.Summary, error) {
	run, err := result.ReadRun(path)
	if err != nil {
		return result.Summary{}, err
	}
	b := analyze.NewBuilder(run)
	events, err := result.ReadEvents(path)
	if err != nil { // all figures are in the intervals
		b.Warn(fmt.Sprintf("events are missing from here on: %v", err))
	}
	names := analyze.NewNames()
	if _, err := readIntervals(path, names.Learn); err != nil {
		return result.Summary{}, err
	}
	truncated, err := result.ReadIntervals(path, named(names, b.Add))
	switch {
	case errors.Is(err, result.ErrDamaged):
		b.Warn(fmt.Sprintf("intervals are missing from here on: %v", err))
	case err != nil:
		return result.Summary{}, err
	case truncated:
		b.Warn("the last interval is cut off: the run was killed, or the disk was full")
	}
	sum := b.Summary(events)
	if err := stretches(path, names, &sum); err != nil {
		return result.Summary{}, err
	}
	b.Degraded(&sum)
	return sum, nil
}

// readIntervals reads up to a damaged line.
func readIntervals(path string, each func(result.Interval) error) (truncated bool, err error) {
	truncated, err = result.ReadIntervals(path, each)
	if errors.Is(err, result.ErrDamaged) {
		return true, nil
	}
	return truncated, err
}

// named gives samples their node's id before a line is added.
func named(names *analyze.Names, add func(result.Interval) error) func(result.Interval) error {
	return func(iv result.Interval) error {
		names.Apply(&iv)
		return add(iv)
	}
}

// stretches reads the intervals of a drill again, now that it is known when what
// was going on.
func stretches(path string, names *analyze.Names, sum *result.Summary) error {
	s := analyze.NewStretches(*sum)
	if !s.Any() {
		return nil
	}
	if _, err := readIntervals(path, named(names, s.Add)); err != nil {
		return err
	}
	s.Apply(sum)
	return nil
}

// WriteSummary writes summary.json into a run's folder.
func WriteSummary(path string, s result.Summary) error {
	return result.WriteJSON(filepath.Join(path, result.SummaryFile), s)
}
