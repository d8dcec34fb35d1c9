package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/fail"
)

func newDrillCommand() *cobra.Command {
	o := loadOptions{output: outputText, drill: true}
	cmd := &cobra.Command{
		Use:   "drill SCENARIO",
		Short: "Run a scenario's load and its steps beside it, and say what your users felt",
		Long: "Runs the phases of a scenario as `rankbench load` does and, beside them, the steps of its drill:\n" +
			"failovers, replicas and shards that come and go. Prints a timeline of what AWS, the nodes and the\n" +
			"load said, divides each outage into what the service could not serve and what the client cost on\n" +
			"top, reads acknowledged writes back, and puts back what the scenario says is to be restored.\n\n" +
			"Before anything is changed it shows where it goes, and refuses a group that is not healthy or not\n" +
			"allowed by the config (aws.allow, aws.allow_tag). What is not on loopback needs --yes, or the\n" +
			"group's id typed. Calls that change something are written to " + callsFile + ".\n" +
			"The first ^C ends the load and restores; what ElastiCache has begun goes on there.",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error { return runLoad(cmd, o, a[0]) },
	}
	o.addFlags(cmd)
	o.aws.add(cmd)
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print what would be done, and touch nothing")
	return cmd
}

// openDrill finds the group that a drill changes.
func (o loadOptions) openDrill(cmd *cobra.Command, t *against) (*group, error) {
	g := &group{against: t, aws: o.aws.over(t.config.AWS), yes: o.target.yes}
	if g.aws.Group == "" {
		return nil, usage(cmd, errors.New("no replication group is given: --replication-group-id, or aws.replication_group in the config"))
	}
	var err error
	g.client, err = openAWS(cmd.Context(), g.aws)
	return g, err
}

// errNoSteps is a scenario that load can run, and drill cannot.
func errNoSteps(name string) error {
	return fail.WithCode(fail.WithHint(fmt.Errorf("scenario %s has no drill", name), "give it drill.steps, or use `rankbench load`"), fail.CodeUsage)
}
