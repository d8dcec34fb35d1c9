package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/page"
	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
)

const compareHelp = `Makes a table of runs side by side from their folders, changes none of them, and says what
differs between them by more than noise. The folder of a series (a drill's repeat) stands for its
runs.

Runs made under the same conditions are repeats of one another and share a column; conditions are
the scenario's settings, the topology, the client's, the versions and the host; not the seed and
not the limits. Columns are told apart by what differs, or by the keys of --by alone; the key
folder is the name of the folder that holds the run's, for what a run does not know of itself,
such as the node type. Each cell is the mean over the repeats and their range, and the ratio to the
base: the first run's group, or that of --base.

What a difference is, as in benchstat: the Mann–Whitney U test (two-sided, exact for few runs)
gives p ≤ 0.05. No p of fewer than 4 and 4 runs can be so low (3 and 5 will do as well); 3 and 3 give 0.1
at best. Of so few, three or more of each, it says that they differ "as far as so few runs can
show" where their ranges are at least as far apart as the wider one is wide, which about one
pair in a hundred does that does not differ; of all others, that it cannot be told. Of twenty
figures that do not differ about one has a p ≤ 0.05 by chance. All that takes the repeats for
independent: run the groups in turns, not one after the other, or what else changed meanwhile
is taken for theirs.

Runs whose client was the bottleneck are compared, and marked *. Of runs that were interrupted (†)
or killed (‡) rates and latencies count, outages and lost writes do not. Runs of which a step
failed (#) count for no figure.

--html writes a page, too: one file that opens from disk, with the same words, and for each figure
a bar for every group, a dot for every run, and the table behind them.`

func newCompareCommand() *cobra.Command {
	out, html := newFormats(outputText, outputMarkdown, outputCSV, outputJSON), ""
	var o compare.Options
	cmd := &cobra.Command{
		Use:   "compare RUN…",
		Short: "Put runs side by side, and say what differs by more than noise",
		Long:  compareHelp,
		Args:  args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, folders []string) error {
			if cmd.Flags().Changed("html") && html == "" {
				return usage(cmd, errors.New("--html takes a file"))
			}
			t, err := comparison(cmd, folders, o)
			if err != nil {
				return err
			}
			return errors.Join(printComparison(t, out.chosen), writePage(html, func(w io.Writer) error { return page.Comparison(w, t) }))
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Base, "base", "", "the `RUN` (or series) whose group the others are held against")
	f.StringSliceVar(&o.By, "by", nil, "group by these `keys` alone, such as score_spread,replicas")
	f.StringVar(&html, "html", "", "also write the comparison as one HTML `file`")
	f.VarP(out, "output", "o", "what goes to stdout")
	return cmd
}

func comparison(cmd *cobra.Command, folders []string, o compare.Options) (compare.Table, error) {
	runs, err := report.ReadRuns(folders)
	if err != nil {
		return compare.Table{}, fail.WithHint(err, "give folders that `rankbench load` or `rankbench drill` has written")
	}
	t, err := compare.Compare(runs, o)
	if errors.Is(err, compare.ErrUse) {
		return t, usage(cmd, err)
	}
	return t, err
}

func printComparison(t compare.Table, out output) error {
	switch out {
	case outputJSON:
		return result.EncodeJSON(os.Stdout, t)
	case outputCSV:
		return report.ComparisonCSV(os.Stdout, t)
	case outputMarkdown:
		return report.ComparisonMarkdown(os.Stdout, t)
	case outputText:
		return report.ComparisonText(os.Stdout, t)
	}
	return fmt.Errorf("print a comparison: %q is no output", out)
}
