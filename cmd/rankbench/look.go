package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/action"
	"github.com/rankbench/rankbench/internal/aws"
	"github.com/rankbench/rankbench/internal/result"
	"github.com/rankbench/rankbench/internal/run"
)

// lookFlags are those of commands that change nothing.
type lookFlags struct {
	target targetFlags
	aws    awsFlags
	out    output
}

func (l *lookFlags) add(cmd *cobra.Command) {
	l.out = outputText
	l.aws.add(cmd)
	f := cmd.Flags()
	f.StringVarP(&l.target.config, "config", "c", "", "`file` with the group (default: the local ElastiCache of this folder)")
	f.VarP(&l.out, "output", "o", "what goes to stdout")
}

// look opens the group, and hands it to show.
func (l *lookFlags) look(cmd *cobra.Command, show func(context.Context, *group) error) error {
	g, err := openGroup(cmd.Context(), cmd, l.target, l.aws)
	if err != nil {
		return err
	}
	defer g.client.Close()
	return show(cmd.Context(), g)
}

// describedGroup is the JSON of describe.
type describedGroup struct {
	Place     aws.Place     `json:"place"`
	Group     aws.Group     `json:"group"`
	Failovers int           `json:"failovers_24h"`
	Roles     []action.Role `json:"roles,omitempty"`
}

func newDescribeCommand() *cobra.Command {
	var l lookFlags
	cmd := &cobra.Command{
		Use:   "describe",
		Short: "Show the replication group, with what its nodes say they are",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return l.look(cmd, func(ctx context.Context, g *group) error {
				t, roles, err := run.LookAt(ctx, g.run(), g.target(), g.name)
				if err != nil {
					return err
				}
				if l.out == outputJSON {
					return result.EncodeJSON(os.Stdout, describedGroup{t.Place, t.Group, t.Failovers, roles})
				}
				return t.Text(os.Stdout, roles)
			})
		},
	}
	l.add(cmd)
	return cmd
}

func newEventsCommand() *cobra.Command {
	var l lookFlags
	var since time.Duration
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print the console's events of the group, oldest first, word for word",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return l.look(cmd, func(ctx context.Context, g *group) error { return printEvents(ctx, g, since, l.out) })
		},
	}
	l.add(cmd)
	cmd.Flags().DurationVar(&since, "since", 24*time.Hour, "how far back; ElastiCache keeps 14 days")
	return cmd
}

func printEvents(ctx context.Context, g *group, since time.Duration, out output) error {
	described, err := g.client.Group(ctx, g.aws.Group)
	if err != nil {
		return err
	}
	events, err := g.client.Events(ctx, time.Now().Add(-since), time.Time{})
	if err != nil {
		return err
	}
	events = slices.DeleteFunc(events, func(e aws.Event) bool { return !described.Owns(e) })
	if out == outputJSON {
		return result.EncodeJSON(os.Stdout, events)
	}
	for _, e := range events {
		fmt.Printf("%s  %-17s  %s  %s\n", e.At.Local().Format("2006-01-02 15:04:05.000"), e.SourceType, e.Subject, e.Message)
	}
	return nil
}

func newMetricsCommand() *cobra.Command {
	var l lookFlags
	var since, period time.Duration
	var names []string
	cmd := &cobra.Command{
		Use:   "metrics",
		Short: "Print CloudWatch's metrics of all nodes of the group",
		Long: "Prints CloudWatch's metrics of all nodes of the group, a table for each metric, a row for each period.\n" +
			"CloudWatch has them two or three minutes late.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if period < time.Second || since < period {
				return usage(cmd, fmt.Errorf("--period %v and --since %v: the period is a second or more, and not above since", period, since))
			}
			return l.look(cmd, func(ctx context.Context, g *group) error {
				return printMetrics(ctx, g, names, since, period, l.out)
			})
		},
	}
	l.add(cmd)
	f := cmd.Flags()
	f.DurationVar(&since, "since", 15*time.Minute, "how far back")
	f.DurationVar(&period, "period", time.Minute, "of each value; AWS has 1m, the local ElastiCache also 1s")
	f.StringSliceVar(&names, "metric-name", nil, "`names` of metrics (default: those that drills are watched by)")
	return cmd
}

func printMetrics(ctx context.Context, g *group, names []string, since, period time.Duration, out output) error {
	described, err := g.client.Group(ctx, g.aws.Group)
	if err != nil {
		return err
	}
	var nodes []string
	for _, m := range described.Members() {
		nodes = append(nodes, m.ID)
	}
	if len(names) == 0 {
		names = aws.DefaultMetrics()
	}
	now := time.Now()
	series, err := g.client.Metrics(ctx, nodes, names, now.Add(-since), now, period)
	if err != nil {
		return err
	}
	if out == outputJSON {
		return result.EncodeJSON(os.Stdout, series)
	}
	for _, name := range names {
		metricTable(os.Stdout, name, series)
	}
	return nil
}

// metricTable prints one metric: a column for each node, a row for each period.
func metricTable(w io.Writer, name string, all []aws.Series) {
	var of []aws.Series
	values := map[time.Time]map[string]float64{}
	for _, s := range all {
		if s.Name != name {
			continue
		}
		of = append(of, s)
		for _, p := range s.Points {
			if values[p.At] == nil {
				values[p.At] = map[string]float64{}
			}
			values[p.At][s.Node] = p.Value
		}
	}
	if len(values) == 0 {
		fmt.Fprintf(w, "%s: no values\n\n", name)
		return
	}
	fmt.Fprintf(w, "%s (%s)\n", name, strings.TrimSpace(of[0].Stat+" "+of[0].Unit))
	t := table.NewWriter()
	t.SetOutputMirror(w)
	style := table.StyleDefault
	style.Options = table.Options{SeparateColumns: true}
	style.Box = table.BoxStyle{PaddingRight: "  "}
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	header := table.Row{"time"}
	for _, s := range of {
		header = append(header, s.Node)
	}
	t.AppendHeader(header)
	for _, at := range slices.SortedFunc(maps.Keys(values), time.Time.Compare) {
		row := table.Row{at.Local().Format("15:04:05")}
		for _, s := range of {
			if v, ok := values[at][s.Node]; ok {
				row = append(row, fmt.Sprintf("%.6g", v))
			} else {
				row = append(row, "-")
			}
		}
		t.AppendRow(row)
	}
	t.Render()
	fmt.Fprintln(w)
}

func newPolicyCommand() *cobra.Command {
	var a awsFlags
	account := ""
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Print the smallest IAM policy with which a group can be drilled",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for name, v := range map[string]string{"--replication-group-id": a.group, "--region": a.region, "--account-id": account} {
				if v == "" {
					return usage(cmd, fmt.Errorf("%s is missing", name))
				}
			}
			_, err := fmt.Println(aws.Policy(a.region, account, a.group))
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.group, "replication-group-id", "", "`id` of the replication group, or a pattern such as lb-staging-*")
	f.StringVar(&a.region, "region", "", "AWS `region`")
	f.StringVar(&account, "account-id", "", "`number` of the AWS account")
	return cmd
}
