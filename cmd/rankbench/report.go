package main

import (
	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/report"
)

func newReportCommand() *cobra.Command {
	out := outputText
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Print the summary of a run's folder, made again from what was seen",
		Long: "Makes the summary of a run from its folder and prints it, also of a run that was killed;\n" +
			"summary.json is written again.",
		Args: args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, a []string) error {
			s, err := report.Summarize(a[0])
			if err != nil {
				return err
			}
			if err := report.WriteSummary(a[0], s); err != nil {
				return err
			}
			return print(s, out)
		},
	}
	cmd.Flags().VarP(&out, "output", "o", "what goes to stdout")
	return cmd
}
