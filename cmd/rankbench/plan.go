package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/run"
	"github.com/rankbench/rankbench/internal/scenario"
)

func newPlanCommand() *cobra.Command {
	o := loadOptions{output: outputText, dryRun: true}
	cmd := &cobra.Command{
		Use:   "plan SCENARIO",
		Short: "Print what load or drill would do, touching nothing",
		Long: "Prints what load or drill would do with the same flags: it reads the scenario and the config, and\n" +
			"connects to nothing.",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error { return runLoad(cmd, o, a[0]) },
	}
	o.addFlags(cmd)
	return cmd
}

// describe prints the plan. It reads files, and connects to nothing.
func describe(t targetFlags, sc *scenario.Scenario, out output) error {
	o := run.Options{Scenario: sc}
	if t.config != "" {
		a, err := readConfig(t.config)
		if err != nil {
			return err
		}
		o.Config = a.config
	} else if a, err := localOfFolder(); err == nil && !t.local {
		o.Config = a.config
	}
	p, err := run.Describe(o)
	if err != nil {
		return err
	}
	if out == outputJSON {
		return result.EncodeJSON(os.Stdout, p)
	}
	return p.Text(os.Stdout)
}
