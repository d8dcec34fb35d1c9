package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/run"
)

type loadOptions struct {
	target   targetFlags
	scenario scenarioFlags
	out      string
	interval time.Duration
	metrics  string
	live     string
	output   output
	populate bool
	dryRun   bool

	drill bool // the scenario's steps, too
	aws   awsFlags
}

func newLoadCommand() *cobra.Command {
	o := loadOptions{output: outputText}
	cmd := &cobra.Command{
		Use:   "load SCENARIO",
		Short: "Run the phases of a scenario, and say what became of every operation",
		Long: "Runs the phases of a scenario one after the other. Prints a line for each operation every\n" +
			"--interval, and a summary at the end; everything seen is kept in the folder --out.\n\n" +
			"The ranking must have been filled by `rankbench populate`; --populate fills it first where\n" +
			"it is not right, and so does --local, whose cluster is new and empty.",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error { return runLoad(cmd, o, a[0]) },
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print what would be done, and touch nothing")
	return cmd
}

func (o *loadOptions) addFlags(cmd *cobra.Command) {
	o.target.add(cmd)
	o.scenario.add(cmd)
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "`folder` of the run (default results/<time>-<scenario>)")
	f.DurationVar(&o.interval, "interval", 10*time.Second, "`time` between the lines")
	f.StringVar(&o.metrics, "metrics-addr", "", "serve Prometheus metrics on this `address`, such as 127.0.0.1:9121")
	f.StringVar(&o.live, "live", "", "serve a page that shows the run as it goes on this `address`, such as :9122 (on loopback, if no host is given)")
	f.VarP(&o.output, "output", "o", "what goes to stdout: the lines and a summary, or the summary as one JSON document")
	f.BoolVar(&o.populate, "populate", false, "fill the ranking first where it is not right")
}

func runLoad(cmd *cobra.Command, o loadOptions, path string) (err error) {
	if o.interval < time.Second {
		return usage(cmd, errors.New("--interval must be 1s or more"))
	}
	sc, err := o.scenario.read(cmd, path)
	if err != nil {
		return err
	}
	if o.drill && sc.Drill == nil {
		return errNoSteps(sc.Name)
	}
	if o.dryRun {
		return describe(o.target, sc, o.output)
	}
	ctx := cmd.Context()
	t, err := o.target.open(ctx, cmd, sc)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	ro, notes := t.options(sc)
	defer notes.stop()
	ro.Out, ro.Interval, ro.Metrics, ro.Live = o.out, o.interval, o.metrics, o.live
	ro.Unrestored = unrestored.watch
	ro.Populate = o.populate || o.target.local
	ro.Lines = linesTo(o.output)
	if o.output == outputText && terminal.terminal {
		ro.Status = terminal.status
	}
	if o.drill {
		g, err := o.openDrill(cmd, t)
		if err != nil {
			return err
		}
		defer g.client.Close()
		a := g.run()
		ro.AWS = &a
	} else if sc.Drill != nil {
		notes.Note("the steps of this scenario's drill are left out: `rankbench drill` runs them")
	}
	if o.drill && sc.Drill.Repeat > 1 {
		return repeatAndPrint(ctx, ro, o.output)
	}
	return loadAndPrint(ctx, ro, o.output)
}

// repeatAndPrint prints each run's summary and then what all have in common; as
// JSON, the latter alone.
func repeatAndPrint(ctx context.Context, ro run.Options, o output) error {
	r, folder, failed := run.Repeat(ctx, ro, func(s result.Summary, folder string) {
		if o == outputText {
			failed := printSummary(s, o)
			fmt.Fprintf(os.Stderr, "results: %s\n", folder)
			if failed != nil {
				fmt.Fprintf(os.Stderr, "warning: %v\n", failed)
			}
		}
	})
	var err error
	if o == outputJSON {
		err = result.EncodeJSON(os.Stdout, r)
	} else {
		err = report.RepeatsText(os.Stdout, r)
	}
	fmt.Fprintf(os.Stderr, "series: %s\n", folder)
	return errors.Join(failed, err) // the first one's exit code counts
}

// linesTo: with -o json the lines are progress, not the product.
func linesTo(o output) io.Writer {
	if o == outputJSON {
		return terminal.stderr()
	}
	return terminal.stdout()
}

func loadAndPrint(ctx context.Context, ro run.Options, o output) error {
	s, folder, failed := run.Load(ctx, ro)
	if folder == "" {
		return failed
	}
	unprinted := printSummary(s, o)
	fmt.Fprintf(os.Stderr, "results: %s\n", folder)
	return errors.Join(run.Verdict(s), failed, unprinted) // the first one's exit code counts
}

func printSummary(s result.Summary, o output) error {
	if o == outputJSON {
		return result.EncodeJSON(os.Stdout, s)
	}
	return report.Text(os.Stdout, s)
}
