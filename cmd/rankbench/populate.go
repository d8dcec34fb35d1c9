package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/populate"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/run"
)

type populateOptions struct {
	target   targetFlags
	scenario scenarioFlags
	force    bool
	dryRun   bool
	output   output
}

func newPopulateCommand() *cobra.Command {
	o := populateOptions{output: outputText}
	cmd := &cobra.Command{
		Use:   "populate SCENARIO",
		Short: "Fill the ranking of a scenario: exactly its members, verified",
		Long: "Fills the ranking of a scenario with exactly its members, verifies their number and a sample\n" +
			"of their scores, and prints how long it took and how many bytes a member takes.\n\n" +
			"A fill that was killed goes on where it was. A ranking that is right is left alone. A key that\n" +
			"rankbench did not make is never touched.",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error { return runPopulate(cmd, o, a[0]) },
	}
	o.target.add(cmd)
	o.scenario.add(cmd)
	cmd.Flags().BoolVar(&o.force, "force", false, "remove a ranking that rankbench made, and fill it again")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print what load would do with the scenario, and touch nothing")
	cmd.Flags().VarP(&o.output, "output", "o", "what goes to stdout")
	return cmd
}

func runPopulate(cmd *cobra.Command, o populateOptions, path string) (err error) {
	sc, err := o.scenario.read(cmd, path)
	if err != nil {
		return err
	}
	if o.dryRun {
		return describe(o.target, sc, o.output)
	}
	t, err := o.target.open(cmd.Context(), cmd, sc)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	ro, notes := t.options(sc)
	defer notes.stop()
	r, err := run.Populate(cmd.Context(), ro, o.force)
	if err != nil {
		return err
	}
	if o.output == outputJSON {
		return result.EncodeJSON(os.Stdout, r)
	}
	return printReport(os.Stdout, sc.Ranking.Key, r)
}

func printReport(w io.Writer, key string, r populate.Report) error {
	did := fmt.Sprintf("filled in %.1f s, %.0f members/s", r.Seconds, r.MembersPerSec)
	switch {
	case r.AlreadyRight:
		did = "was right already, nothing sent"
	case r.ResumedAt > 0:
		did += fmt.Sprintf(", resumed at %d", r.ResumedAt)
	}
	used := "unknown"
	if r.BytesPerMember > 0 {
		used = fmt.Sprintf("%.1f", r.BytesPerMember)
	}
	_, err := fmt.Fprintf(w, "ranking %q: %d members, %s\n"+
		"verified: ZCARD and %d scores; on %d of %d replicas\n"+
		"bytes per member: %s (growth of the data set), %.1f (MEMORY USAGE)\n",
		key, r.Members, did, r.Sampled, r.Replicas, r.ReplicasWanted, used, r.MemoryUsagePerMember)
	return err
}
