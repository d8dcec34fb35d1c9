package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/analyze"
	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/plan"
	"github.com/rankbench/rankbench/internal/populate"
	"github.com/rankbench/rankbench/internal/progress"
	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/scenario"
	"github.com/rankbench/rankbench/internal/target"
)

// Options are what a run is made of.
type Options struct {
	Scenario *scenario.Scenario
	Config   *config.Config
	NodeName func(addr string) string // "" where the address has no other name; may be nil
	Local    bool                     // servers on this host
	Out      string                   // folder; "" is results/<time>-<scenario>
	Interval time.Duration            // of the lines on the screen
	Populate bool                     // fill the ranking first where it is not right
	Metrics  string                   // address for Prometheus; "" for none
	Live     string                   // address of the live page; "" for none
	Repeat   int                      // which run of a series it is, from 0
	AWS      *AWS                     // the scenario's steps are done to this group; nil: its load only
	// Unrestored is given a function that names, at any time, what the steps have changed and
	// not put back; may be nil.
	Unrestored func(names func() []string)
	Versions   map[string]string // rankbench, go, go-redis

	// Status is told each second how far the run is, between two lines of the product,
	// and nil when that is over; may be nil.
	Status func(*progress.Status)

	Lines io.Writer // a line for each operation and interval
	Notes Notes     // progress and warnings
}

// Notes takes what is not the product: one call is one line. Progress tells how
// far a fill is.
type Notes interface {
	Note(format string, args ...any)
	Progress(done, of int64)
}

// resultsFolder holds the runs that name no folder.
const resultsFolder = "results"

// DefaultOut is the folder of a run that names none.
func DefaultOut(scenario string, now time.Time) string {
	return filepath.Join(resultsFolder, now.Format("20060102-150405")+"-"+scenario)
}

// Load runs the phases of the scenario and returns the summary and the folder
// that holds everything that was seen. An interrupted run is no error: its
// summary says so. The folder's path is "" where the run never began; where
// the results could not be written to the end (a full disk), there is an error
// and the summary of what was.
func Load(ctx context.Context, o Options) (result.Summary, string, error) {
	pl, err := plan.BuildRepeat(o.Scenario, o.Repeat)
	if err != nil {
		return result.Summary{}, "", err
	}
	if o.Out == "" {
		o.Out = DefaultOut(o.Scenario.Name, time.Now())
	}
	if err := result.Prepare(o.Out, planned(pl)); err != nil {
		return result.Summary{}, "", fail.WithHint(err, "choose another folder with --out")
	}
	s, err := open(ctx, o, pl)
	if err != nil {
		removeEmpty(o.Out)
		return result.Summary{}, "", err
	}
	s.run(ctx)
	end, failed := s.close(ctx)
	sum, err := report.Summarize(o.Out)
	defer func() { s.showEnd(sum, err == nil) }()
	if err != nil {
		sum.FailedSteps, sum.NotRestored, sum.Interrupted = end.FailedSteps, end.NotRestored, end.Interrupted
		return sum, o.Out, errors.Join(failed, err)
	}
	if !sum.Complete { // the last lines did not come to the disk
		sum.FailedSteps, sum.NotRestored, sum.Audit, sum.Interrupted = end.FailedSteps, end.NotRestored, end.Audit, end.Interrupted
	}
	return sum, o.Out, errors.Join(failed, report.WriteSummary(o.Out, sum))
}

// removeEmpty removes the folder of a run that never began, and the folder of
// all runs where it is ours and this would have been the first.
func removeEmpty(out string) {
	_ = os.Remove(out) // fails where something is in it, and should
	if parent := filepath.Dir(out); parent == resultsFolder {
		_ = os.Remove(parent)
	}
}

// planned is how long the phases are in all.
func planned(pl *plan.Plan) time.Duration {
	var d time.Duration
	for _, p := range pl.Phases {
		d += p.End()
	}
	return d
}

// Verdict is the error that stands for what a summary says, or nil: it carries
// the exit code.
func Verdict(s result.Summary) error {
	if n := len(s.NotRestored); n > 0 {
		return fail.WithCode(fmt.Errorf("%d steps could not be restored: %s", n, strings.Join(s.NotRestored, "; ")), fail.CodeNotRestored)
	}
	if s.Interrupted {
		return fail.WithCode(fmt.Errorf("interrupted after %.1f s; what was seen is in the results", s.DurationS), fail.CodeInterrupted)
	}
	code, missed, unknown := fail.CodeLimit, 0, 0
	for _, l := range s.Limits {
		if !l.OK {
			missed++
			if l.Unknown {
				unknown++
			}
			if l.Name == analyze.MetricBottleneck {
				code = fail.CodeBottleneck
			}
		}
	}
	switch {
	case missed == 0 && len(s.FailedSteps) > 0:
		return fmt.Errorf("%d steps failed: %s", len(s.FailedSteps), strings.Join(s.FailedSteps, "; "))
	case missed == 0:
		return nil
	case code == fail.CodeBottleneck && missed == 1:
		return fail.WithCode(fmt.Errorf("the client was the bottleneck: %s", s.Client.Reason), code)
	case unknown > 0:
		return fail.WithCode(fmt.Errorf("%d of %d limits were not met, of %d of which the run has not seen enough to tell", missed, len(s.Limits), unknown), fail.CodeLimit)
	default:
		return fail.WithCode(fmt.Errorf("%d of %d limits were not met", missed, len(s.Limits)), fail.CodeLimit)
	}
}

// Populate fills the scenario's ranking on the config's target.
func Populate(ctx context.Context, o Options, force bool) (populate.Report, error) {
	pl, err := plan.Build(o.Scenario)
	if err != nil {
		return populate.Report{}, err
	}
	o.Populate = true
	server, err := check(ctx, o)
	if err != nil {
		return populate.Report{}, err
	}
	for _, w := range server.Warnings {
		o.Notes.Note("warning: %s", w)
	}
	return fillRanking(ctx, o, pl, force)
}

// check looks at the target, and whether it has the topology that the scenario requires.
func check(ctx context.Context, o Options) (target.Server, error) {
	s, err := target.Check(ctx, o.Config, o.Scenario.Ranking.Key)
	if err != nil {
		return s, err
	}
	if s.Upstream != "" && (o.Populate || writes(o.Scenario)) {
		return s, fail.WithHint(fmt.Errorf("check %s: it is a replica, which cannot be written to", s.Addr),
			"give the primary's address, "+s.Upstream)
	}
	t := o.Scenario.Topology
	if t == nil {
		return s, nil
	}
	if err := checkClusterMode(t.ClusterMode, o.Config.Target.Mode); err != nil {
		return s, err
	}
	if t.Shards == s.Shards && t.Replicas == s.Replicas {
		return s, nil
	}
	return s, fail.WithHint(
		fmt.Errorf("check %s: it has %d shards and %d replicas, the scenario requires %d and %d", s.Addr, s.Shards, s.Replicas, t.Shards, t.Replicas),
		fmt.Sprintf("change the target, or the scenario: --set topology.shards=%d --set topology.replicas=%d", s.Shards, s.Replicas))
}

func checkClusterMode(want, mode string) error {
	switch {
	case want == scenario.Enabled && mode != config.Cluster:
		return fail.WithHint(fmt.Errorf("the scenario requires cluster mode enabled, and the config's target.mode is %s", mode), "give a config with target.mode: cluster")
	case want == scenario.Disabled && mode == config.Cluster:
		return fail.WithHint(errors.New("the scenario requires cluster mode disabled, and the config's target.mode is cluster"), "give a config with target.mode: endpoints")
	}
	return nil
}

func writes(sc *scenario.Scenario) bool {
	for _, p := range sc.Phases {
		for _, l := range p.Ops {
			if l.Kind.Writes() {
				return true
			}
		}
	}
	return false
}

// fillRanking uses a client of its own: filling wants patience, not the
// timeouts under which the load is to run.
func fillRanking(ctx context.Context, o Options, pl *plan.Plan, force bool) (populate.Report, error) {
	client, err := target.Open(patient(o.Config), o.Scenario.Ranking.Key, target.Need{Workers: populate.DefaultConnections + 2})
	if err != nil {
		return populate.Report{}, err
	}
	defer client.Close()
	store := client.Store()
	return populate.Populate(ctx, store, populate.Options{
		Ranking:  pl.Ranking,
		Random:   o.Scenario.Order == scenario.Random,
		Force:    force,
		Appender: func(size int) populate.Appender { return store.Appender(size) },
		Progress: o.Notes.Progress,
	})
}

// patient is a config with the timeouts of who would rather wait than fail.
func patient(c *config.Config) *config.Config {
	cfg := *c
	cfg.Client = config.Client{Profile: config.Tuned, ReadFrom: config.Primary,
		Options: map[string]string{"read_timeout": "30s", "write_timeout": "30s"}}
	return &cfg
}

// describe is run.json.
func describe(o Options, server target.Server, driver map[string]any, host result.Host, started time.Time) result.Run {
	versions := map[string]string{"server": server.Version}
	for k, v := range o.Versions {
		versions[k] = v
	}
	t := o.Config.Target
	return result.Run{
		Version: result.Version, Command: command(o), Scenario: o.Scenario.Name, Source: o.Scenario.Source,
		Config: map[string]any{
			"target": map[string]any{
				"mode": t.Mode, "addresses": t.Addresses, "primary": t.Primary, "reader": t.Reader, "resolver": t.Resolver,
				"tls": t.TLS != nil, "username": t.Username,
			},
			"client": map[string]any{
				"profile": o.Config.Client.Profile, "read_from": o.Config.Client.ReadFrom,
				"options": o.Config.Client.Options, "effective": driver,
			},
		},
		ReadFrom: o.Config.Client.ReadFrom, Local: o.Local, Phases: phasesOf(o.Scenario), Limits: o.Scenario.Limits,
		Versions: versions, Host: host, Seed: o.Scenario.Seed, Started: started.UTC(),
		Clock: "offsets from started on the monotonic clock", IntervalS: cutEvery.Seconds(),
		OutageThresholdS: o.Scenario.OutageThreshold.Seconds(), Warnings: server.Warnings,
	}
}

func command(o Options) string {
	if o.AWS != nil {
		return "drill"
	}
	return "load"
}

func phasesOf(sc *scenario.Scenario) []result.RunPhase {
	var out []result.RunPhase
	for _, p := range sc.Phases {
		rp := result.RunPhase{Name: p.Name, WarmupS: p.Warmup.Seconds(), DurationS: p.Duration.Seconds()}
		for _, l := range p.Ops {
			rp.Ops = append(rp.Ops, l.Kind.String())
			if l.Rate > 0 {
				if rp.Rates == nil {
					rp.Rates = map[string]float64{}
				}
				rp.Rates[l.Kind.String()] = l.Rate
			}
		}
		out = append(out, rp)
	}
	return out
}
