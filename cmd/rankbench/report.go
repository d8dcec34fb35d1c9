package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
)

func newReportCommand() *cobra.Command {
	out := outputText
	cmd := &cobra.Command{
		Use:   "report RUN…",
		Short: "Print the summary of runs from their folders, made again from what was seen",
		Long: "Makes the summary of each run from its folder and prints it, also of a run that was killed;\n" +
			"summary.json is written again. With -o json, several runs give one array.",
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, folders []string) error { return runReport(folders, out) },
	}
	cmd.Flags().VarP(&out, "output", "o", "what goes to stdout")
	return cmd
}

func runReport(folders []string, out output) error {
	var all []result.Summary
	for _, folder := range folders {
		s, err := report.Summarize(folder)
		if err != nil {
			return err
		}
		if err := report.WriteSummary(folder, s); err != nil {
			fmt.Fprintf(os.Stderr, "warning: %v\n", err) // a folder may be for reading only
		}
		all = append(all, s)
	}
	if out == outputJSON && len(all) > 1 {
		return result.EncodeJSON(os.Stdout, all)
	}
	for _, s := range all {
		if err := printSummary(s, out); err != nil {
			return err
		}
	}
	return nil
}
