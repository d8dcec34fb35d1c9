package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/page"
	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
)

func newReportCommand() *cobra.Command {
	out, html := newFormats(outputText, outputJSON, outputCSV, outputMarkdown), ""
	cmd := &cobra.Command{
		Use:   "report RUN…",
		Short: "Print the summary of runs from their folders, made again from what was seen",
		Long: "Makes the summary of each run from its folder and prints it, also of a run that was killed;\n" +
			"summary.json is written again. With -o json, several runs give one array.\n\n" +
			"-o markdown is for pull requests and tickets. -o csv has a row for each interval, operation and\n" +
			"class (ok, each class of error, unsent); warnings go to stderr. --html writes a page with everything\n" +
			"on one time axis: one file that opens from disk.",
		Args: args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, folders []string) error {
			if cmd.Flags().Changed("html") && (html == "" || len(folders) > 1) {
				return usage(cmd, errors.New("--html takes a file, and one run"))
			}
			return errors.Join(runReport(folders, out.chosen), writePage(html, func(w io.Writer) error { return page.HTML(w, folders[0]) }))
		},
	}
	cmd.Flags().StringVar(&html, "html", "", "also write the run as one HTML `file`")
	cmd.Flags().VarP(out, "output", "o", "what goes to stdout")
	return cmd
}

// writePage writes a page to a file, if one is asked for.
func writePage(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := result.WriteFile(path, b.Bytes()); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "page: %s\n", path)
	return nil
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
	switch out {
	case outputCSV:
		return csvReports(folders, all)
	case outputMarkdown:
		return markdownReports(folders, all)
	case outputJSON:
		if len(all) > 1 {
			return result.EncodeJSON(os.Stdout, all)
		}
	}
	for _, s := range all {
		if err := printSummary(s, out); err != nil {
			return err
		}
	}
	return nil
}

// csvReports says on stderr what the rows cannot.
func csvReports(folders []string, all []result.Summary) error {
	for i, s := range all {
		if err := report.Warnings(os.Stderr, folders[i], s); err != nil {
			return err
		}
	}
	return report.CSV(os.Stdout, folders)
}

func markdownReports(folders []string, all []result.Summary) error {
	for i, s := range all {
		run, err := result.ReadRun(folders[i])
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Println()
		}
		if err := report.Markdown(os.Stdout, run, s); err != nil {
			return err
		}
	}
	return nil
}
