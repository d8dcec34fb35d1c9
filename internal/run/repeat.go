package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
// broken off goes on where it stopped, if it is given the same folder. done is
// told of each run.
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
	for i := len(r.Runs); i < d.Repeat && ctx.Err() == nil; i++ {
		if i > 0 {
			if err := o.coolDown(ctx, d.Settle, d.Cooldown); err != nil {
				return r, base, fmt.Errorf("before run %d: %w", i+1, err)
			}
			if ctx.Err() != nil {
				return r, base, fail.WithCode(fmt.Errorf("interrupted before run %d; with the same --out the series goes on", i+1), fail.CodeInterrupted)
			}
		}
		name := fmt.Sprintf("run-%02d", i+1)
		o.Out, o.Repeat = filepath.Join(base, name), i
		if err := os.RemoveAll(o.Out); err != nil { // of a run that was killed
			return r, base, err
		}
		o.Notes.Note("run %d of %d", i+1, d.Repeat)
		sum, folder, err := Load(ctx, o)
		if folder != "" {
			done(sum, folder)
		}
		if err != nil || sum.Interrupted {
			return r, base, errors.Join(err, Verdict(sum))
		}
		o.AWS.Confirm = func(action.Target, []action.Role) error { return nil } // once is enough
		sums = append(sums, sum)
		r.Runs = append(r.Runs, result.RepeatRun{Folder: name, Verdict: sum.Verdict})
		r.Figures = analyze.Figures(sums)
		if err := result.WriteJSON(filepath.Join(base, result.RepeatsFile), r); err != nil {
			return r, base, err
		}
	}
	o.AWS.Confirm = confirm
	return r, base, worst(sums)
}

// resume reads a series that was broken off, with the summaries of its runs.
func resume(o Options) (result.Repeats, []result.Summary, error) {
	fresh := result.Repeats{Version: result.Version, Scenario: o.Scenario.Name, Source: o.Scenario.Source, Want: o.Scenario.Drill.Repeat}
	data, err := os.ReadFile(filepath.Join(o.Out, result.RepeatsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil, nil
	}
	r := fresh
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		return fresh, nil, fmt.Errorf("resume the series in %s: %w", o.Out, err)
	}
	if r.Source != fresh.Source || r.Version != fresh.Version {
		return fresh, nil, fail.WithHint(fmt.Errorf("resume the series in %s: it is of another scenario", o.Out), "choose another folder with --out")
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

// coolDown waits until the group is healthy, and then for the cool-down.
func (o Options) coolDown(ctx context.Context, within, cooldown time.Duration) error {
	healthy, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		g, err := o.AWS.Client.Group(healthy, o.AWS.Group)
		if err == nil {
			err = g.Available()
		}
		if err == nil {
			break
		}
		select {
		case <-tick.C:
		case <-healthy.Done():
			return fmt.Errorf("%s is not healthy: %w", o.AWS.Group, err)
		}
	}
	timer := time.NewTimer(cooldown)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// worst is the error of the run that fared worst, by its exit code: what could not
// be restored before a limit that was not met.
func worst(sums []result.Summary) error {
	var worst error
	for _, s := range sums {
		if err := Verdict(s); rank(err) > rank(worst) {
			worst = err
		}
	}
	return worst
}

func rank(err error) int {
	order := []int{fail.CodeFine, fail.CodeBottleneck, fail.CodeLimit, fail.CodeFailed, fail.CodeNotRestored, fail.CodeInterrupted}
	for i, code := range order {
		if fail.CodeOf(err) == code {
			return i
		}
	}
	return len(order)
}
