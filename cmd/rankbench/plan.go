package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/run"
	"github.com/rankbench/rankbench/internal/scenario"
)

func newPlanCommand() *cobra.Command {
	var t targetFlags
	var s scenarioFlags
	cmd := &cobra.Command{
		Use:   "plan SCENARIO",
		Short: "Print what load would do, touching nothing",
		Args:  args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, a []string) error {
			sc, err := s.read(cmd, a[0])
			if err != nil {
				return err
			}
			return describe(cmd, t, sc)
		},
	}
	t.add(cmd)
	s.add(cmd)
	return cmd
}

// describe prints the plan. It reads files, and connects to nothing.
func describe(_ *cobra.Command, t targetFlags, sc *scenario.Scenario) error {
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
	return run.Describe(os.Stdout, o)
}
