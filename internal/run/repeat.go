package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rankbench/rankbench/internal/action"
	"github.com/rankbench/rankbench/internal/analyze"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
)

// Repeat runs a drill as often as its scenario says, each run in a folder of its
// own, and returns what they have in common. Between two runs it waits until
// everything is healthy again, and then for the cool-down. A series that was
// broken off goes on where it stopped, if it is given the same folder; what there is
// of a run that was cut off is kept beside it. Runs of which a step failed count for
// no figure. done is told of each run.
func Repeat(ctx context.Context, o Options, done func(result.Summary, string)) (result.Repeats, string, error) {
	d := o.Scenario.Drill
	if o.Out == "" {
		o.Out = DefaultOut(o.Scenario.Name, time.Now())
	}
	r, sums, err := resume(o)
	if err != nil {
		return r, o.Out, err
	}
	if n := len(r.Runs); n > 0 {
		o.Notes.Note("going on after run %d of %d", n, d.Repeat)
	}
	base, confirm := o.Out, o.AWS.Confirm
	for i := len(r.Runs); i < d.Repeat; i++ {
		if i > 0 {
			if err := o.coolDown(ctx, d.Settle, d.Cooldown); err != nil {
				return r, base, gravest(append(verdicts(sums), fmt.Errorf("before run %d: %w", i+1, err)))
			}
		}
		if ctx.Err() != nil {
			return r, base, gravest(append(verdicts(sums), fail.WithCode(fmt.Errorf("interrupted before run %d; with the same --out the series goes on", i+1), fail.CodeInterrupted)))
		}
		name := fmt.Sprintf("run-%02d", i+1)
		o.Out, o.Repeat = filepath.Join(base, name), i
		if err := o.putAside(); err != nil {
			return r, base, err
		}
		o.Notes.Note("run %d of %d", i+1, d.Repeat)
		sum, folder, err := Load(ctx, o)
		if folder != "" {
			done(sum, folder)
		}
		if err != nil || sum.Interrupted {
			return r, base, gravest(append(verdicts(sums), Verdict(sum), err))
		}
		o.AWS.Confirm = func(context.Context, action.Target, []action.Role) error { return nil } // once is enough
		sums = append(sums, sum)
		r.Runs = append(r.Runs, result.RepeatRun{Folder: name, Verdict: sum.Verdict, FailedSteps: sum.FailedSteps})
		r.Figures = analyze.Figures(whole(sums))
		if err := result.WriteJSON(filepath.Join(base, result.RepeatsFile), r); err != nil {
			return r, base, err
		}
		if len(sum.NotRestored) > 0 {
			break // what is left as it was changed is no place for another run
		}
	}
	o.AWS.Confirm = confirm
	return r, base, gravest(verdicts(sums))
}

// whole are the runs of which no step failed: an outage that a failover would have
// made, had it come about, is no outage of 0 s.
func whole(sums []result.Summary) []result.Summary {
	return slices.DeleteFunc(slices.Clone(sums), func(s result.Summary) bool { return len(s.FailedSteps) > 0 })
}

// putAside renames what there is of a run that was cut off.
func (o Options) putAside() error {
	_, err := os.Stat(o.Out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	aside := o.Out + ".cut-off-" + time.Now().Format("20060102-150405")
	o.Notes.Note("%s holds a run that was cut off: it is %s now", o.Out, aside)
	return os.Rename(o.Out, aside)
}

// against says what a series goes against. Local ones have new addresses each time.
func (o Options) against() string {
	if o.Local {
		return "a local ElastiCache"
	}
	return o.AWS.Group + ", " + o.Config.String()
}

// beginSeries writes the first state of a series, where no other one's runs are.
func (o Options) beginSeries(fresh result.Repeats) error {
	if there, _ := filepath.Glob(filepath.Join(o.Out, "run-*")); len(there) > 0 {
		return fail.WithHint(fmt.Errorf("begin a series in %s: %w", o.Out, result.ErrExists), "choose another folder with --out")
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return result.WriteJSON(filepath.Join(o.Out, result.RepeatsFile), fresh)
}

// resume reads a series that was broken off, with the summaries of its runs.
func resume(o Options) (result.Repeats, []result.Summary, error) {
	fresh := result.Repeats{
		Version: result.Version, Scenario: o.Scenario.Name, Source: o.Scenario.Source, Against: o.against(), Want: o.Scenario.Drill.Repeat,
		Runs: []result.RepeatRun{}, Figures: []result.Figure{},
	}
	data, err := os.ReadFile(filepath.Join(o.Out, result.RepeatsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil, o.beginSeries(fresh)
	}
	r := fresh
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return fresh, nil, fmt.Errorf("resume the series in %s: %w", o.Out, err)
	}
	if other := differs(r, fresh); other != "" {
		return fresh, nil, fail.WithHint(fmt.Errorf("resume the series in %s: it is of another %s", o.Out, other), "choose another folder with --out")
	}
	var sums []result.Summary
	for _, run := range r.Runs {
		s, err := report.Summarize(filepath.Join(o.Out, run.Folder))
		if err != nil {
			return fresh, nil, fmt.Errorf("resume the series in %s: %w", o.Out, err)
		}
		sums = append(sums, s)
	}
	r.Want = fresh.Want
	return r, sums, nil
}

// differs says in what a series differs from the one that is to be made, or "".
func differs(r, fresh result.Repeats) string {
	switch {
	case r.Source != fresh.Source || r.Version != fresh.Version:
		return "scenario"
	case r.Against != fresh.Against:
		return "target or client: " + r.Against
	}
	return ""
}

// coolDown waits until the group is healthy, and then for the cool-down.
func (o Options) coolDown(ctx context.Context, within, cooldown time.Duration) error {
	healthy, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var missing error
	for {
		g, err := o.AWS.Client.Group(healthy, o.AWS.Group)
		if err == nil {
			err = g.Available()
		}
		if err == nil {
			break
		}
		if missing == nil || healthy.Err() == nil { // a question that was cut short tells nothing
			missing = err
		}
		select {
		case <-tick.C:
			continue
		case <-healthy.Done():
		}
		if ctx.Err() != nil {
			return nil // the caller says so
		}
		return fmt.Errorf("%s is not healthy: %w", o.AWS.Group, missing)
	}
	timer := time.NewTimer(cooldown)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

func verdicts(sums []result.Summary) (errs []error) {
	for _, s := range sums {
		errs = append(errs, Verdict(s))
	}
	return errs
}

// gravest is the error that stands for all, by its exit code: as of a single run,
// what could not be restored comes before an interrupt, and that before a limit that
// was not met. The last one is told, too.
func gravest(errs []error) error {
	var worst error
	for _, err := range errs {
		if rank(err) > rank(worst) {
			worst = err
		}
	}
	if n := len(errs); n > 0 && errs[n-1] != nil && !errors.Is(worst, errs[n-1]) {
		return errors.Join(worst, errs[n-1])
	}
	return worst
}

func rank(err error) int {
	order := []int{fail.CodeFine, fail.CodeBottleneck, fail.CodeLimit, fail.CodeFailed, fail.CodeInterrupted, fail.CodeNotRestored}
	for i, code := range order {
		if fail.CodeOf(err) == code {
			return i
		}
	}
	return len(order)
}
