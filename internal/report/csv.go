package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rankbench/rankbench/internal/legible"
	"github.com/rankbench/rankbench/internal/result"
)

// csvHeader: count is of operations that ended in the interval, by class: ok, each
// class of error, unsent. rps and the latencies of successes are of rows of ok alone.
var csvHeader = []string{"run", "from_s", "to_s", "phase", "warmup", "operation", "class", "count", "rps", "p50_us", "p99_us", "max_us"}

// CSV writes a row for each interval, operation and class of runs, as their
// folders have them. An operation that a phase has and of which nothing ended in an
// interval has a row of 0 ok: an outage is no gap. What cannot be read any more
// of a run that was killed, or is damaged, is left out.
func CSV(w io.Writer, folders []string) error {
	c := csv.NewWriter(w)
	if err := c.Write(csvHeader); err != nil {
		return err
	}
	for _, folder := range folders {
		run, err := result.ReadRun(folder)
		if err != nil {
			return err
		}
		r := csvRun{out: c, folder: folder, run: run, measured: map[int]float64{}}
		if _, err := readIntervals(folder, r.interval); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// shortest is the least interval in which nothing is told to have happened, seconds:
// the lines at a phase's borders are shorter.
const shortest = 0.001

// csvRun writes the rows of one run.
type csvRun struct {
	out      *csv.Writer
	folder   string
	run      result.Run
	measured map[int]float64 // from which offset on, by phase
}

func (r *csvRun) interval(iv result.Interval) error {
	if m := iv.Mark; m != nil {
		r.measured[iv.Phase] = m.MeasuredFromS
	}
	if iv.Phase < 0 || iv.Phase >= len(r.run.Phases) {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range iv.Cells {
		if c.OK == 0 && c.Unsent == 0 && len(c.Errors) == 0 {
			continue
		}
		seen[c.Op] = true
		if err := r.cell(iv, c); err != nil {
			return err
		}
	}
	if iv.ToS-iv.FromS < shortest {
		return nil
	}
	for _, op := range r.run.Phases[iv.Phase].Ops {
		if !seen[op] {
			none := result.Cell{Op: op, Warmup: iv.FromS < r.measured[iv.Phase]}
			if err := r.cell(iv, none); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *csvRun) cell(iv result.Interval, c result.Cell) error {
	figures, err := okFigures(iv, c)
	if err != nil {
		return fmt.Errorf("read %s: interval at %.3f s, %s: %w", r.folder, iv.FromS, c.Op, err)
	}
	err = r.row(iv, c, "ok", c.OK, figures)
	for _, class := range slices.Sorted(maps.Keys(c.Errors)) {
		err = errors.Join(err, r.row(iv, c, class, c.Errors[class].N, noFigures))
	}
	if c.Unsent > 0 {
		err = errors.Join(err, r.row(iv, c, "unsent", c.Unsent, noFigures))
	}
	return err
}

// noFigures are those of errors: rps, p50, p99, max.
var noFigures = []string{"", "", "", ""}

// okFigures are the rate and the latencies of the successes of a cell.
func okFigures(iv result.Interval, c result.Cell) ([]string, error) {
	out := slices.Clone(noFigures)
	if d := iv.ToS - iv.FromS; d >= shortest {
		out[0] = csvFloat(float64(c.OK) / d)
	}
	text, most := c.Latency, c.LatencyMaxUS
	if text == "" { // closed loop
		text, most = c.Service, c.ServiceMaxUS
	}
	h, err := result.DecodeHistogram(text)
	if err != nil || h == nil || h.TotalCount() == 0 {
		return out, err
	}
	for i, q := range []float64{50, 99} { // the upper ends of their buckets
		out[i+1] = csvFloat(min(float64(h.ValueAtPercentile(q)), most))
	}
	out[3] = csvFloat(most)
	return out, nil
}

func (r *csvRun) row(iv result.Interval, c result.Cell, class string, n uint64, figures []string) error {
	row := []string{csvText(r.folder), csvFloat(iv.FromS), csvFloat(iv.ToS), csvText(r.run.Phases[iv.Phase].Name), strconv.FormatBool(c.Warmup),
		csvText(c.Op), csvText(class), strconv.FormatUint(n, 10)}
	return r.out.Write(append(row, figures...))
}

// csvFloat is a figure to three decimals at most.
func csvFloat(v float64) string {
	text := strconv.FormatFloat(v, 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// csvText is a text that a spreadsheet takes for a text: not for a formula.
func csvText(s string) string {
	s = legible.Text(s, maxText)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// Warnings writes the doubts about a run, a line each, for where the product has no
// place for them.
func Warnings(w io.Writer, folder string, s result.Summary) error {
	for _, text := range s.Warnings {
		if _, err := fmt.Fprintf(w, "warning: %s: %s\n", legible.Text(folder, maxText), legible.Text(text, maxText)); err != nil {
			return err
		}
	}
	return nil
}
