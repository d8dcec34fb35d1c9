package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/legible"
)

const exitCodes = `Exit codes:
  0    fine
  1    failed to run
  2    bad usage, scenario or config
  3    ran, and a limit was not met
  4    ran, and something changed could not be restored
  5    ran, and the client was the bottleneck where the scenario forbids it
  130  interrupted (results written)
`

func newRootCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rankbench",
		Short: "Load-test rankings on Amazon ElastiCache, and see what users feel",
		Long: "rankbench loads a sorted set with the four ranking operations (Set, Get, Find,\n" +
			"FindByOrder) through go-redis, prints rates and errors while it runs, and tells\n" +
			"the truth about both: an error is never a success, an outage never disappears.\n\n" +
			"Without --config, commands use the local ElastiCache that `rankbench local up`\n" +
			"started from this folder.",
		SilenceErrors: true, // main prints them, with their hints
		SilenceUsage:  true,
		Args:          args(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetHelpTemplate(cmd.HelpTemplate() + "\n" + exitCodes)
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage(c, err) })
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.AddCommand(newPopulateCommand(), newLoadCommand(), newDrillCommand(), newPlanCommand(), newReportCommand(), newCompareCommand(), newLocalCommand(), newVersionCommand())
	cmd.AddCommand(newFailoverCommand(), newReplicasCommand(), newShardsCommand(), newDescribeCommand(), newEventsCommand(), newMetricsCommand(), newPolicyCommand())
	return cmd
}

// usage marks an error as one of usage, with a hint on where to look.
func usage(cmd *cobra.Command, err error) error {
	return fail.WithCode(fail.WithHint(err, fmt.Sprintf("see `%s --help`", cmd.CommandPath())), fail.CodeUsage)
}

// args is cobra's check of arguments with the exit code of bad usage.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage(cmd, err)
		}
		return nil
	}
}

// output is the value of -o.
type output string

const (
	outputText output = "text"
	outputJSON output = "json"
)

func (o *output) String() string { return string(*o) }
func (o *output) Type() string   { return "text|json" }

func (o *output) Set(s string) error {
	if s != string(outputText) && s != string(outputJSON) {
		return errors.New("it is text or json")
	}
	*o = output(s)
	return nil
}

// stderrNotes prints notes and progress. It is safe for concurrent use.
type stderrNotes struct {
	mu       sync.Mutex
	w        io.Writer
	progress *bar
}

// maxNote is how long a note may be, characters.
const maxNote = 4000

func newNotes() *stderrNotes { return &stderrNotes{w: terminal.stderr(), progress: newBar(os.Stderr)} }

func (n *stderrNotes) Note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.progress.stop()
	fmt.Fprintln(n.w, legible.Text(fmt.Sprintf(format, args...), maxNote))
}

// stop ends a bar whose fill did not come to its end.
func (n *stderrNotes) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.progress.stop()
}

func (n *stderrNotes) Progress(done, of int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.progress.set(done, of)
}
