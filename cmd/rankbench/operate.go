package main

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/run"
	"github.com/rankbench/rankbench/internal/scenario"
)

// operation is a command that does one operation and watches it to its end.
type operation struct {
	target    targetFlags
	aws       awsFlags
	nodeGroup string
	settle    time.Duration
}

func (o *operation) add(cmd *cobra.Command) {
	o.aws.add(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.target.config, "config", "c", "", "`file` with the group and how its nodes are reached (default: the local ElastiCache of this folder)")
	f.BoolVar(&o.target.yes, "yes", false, "do not ask before something that is not on loopback is changed")
	f.DurationVar(&o.settle, "settle", defaultSettle, "how `long` its end is waited for")
}

func (o *operation) do(cmd *cobra.Command, s scenario.Step) (err error) {
	g, err := openGroup(cmd.Context(), cmd, o.target, o.aws)
	if err != nil {
		return err
	}
	defer g.client.Close()
	return run.Operate(cmd.Context(), run.Operation{
		AWS: g.run(), Step: s, Settle: o.settle, Target: g.target(), Name: g.name, Out: os.Stdout,
	})
}

func newFailoverCommand() *cobra.Command {
	var o operation
	cmd := &cobra.Command{
		Use:   "failover",
		Short: "Have ElastiCache fail over (TestFailover), and watch it to its end",
		Long: "Calls TestFailover: ElastiCache takes the primary of a node group down, promotes a replica and\n" +
			"replaces the node. Prints the console's events and what the nodes say, until everything is healthy.\n" +
			"ElastiCache allows 15 in 24 hours. What it does to your users, `rankbench drill` measures.",
		Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.do(cmd, scenario.Step{Kind: scenario.TestFailover, NodeGroup: o.nodeGroup})
		},
	}
	o.add(cmd)
	cmd.Flags().StringVar(&o.nodeGroup, "node-group-id", "0001", "`id` of the node group")
	return cmd
}

func newReplicasCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replicas",
		Short: "Have ElastiCache add or remove replicas",
		Args:  args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newReplicasChange("increase", "Add replicas, and watch until they serve", scenario.IncreaseReplicas),
		newReplicasChange("decrease", "Remove replicas, and watch until they are gone", scenario.DecreaseReplicas))
	return cmd
}

func newReplicasChange(use, short, kind string) *cobra.Command {
	var o operation
	count, nodes := -1, []string{}
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (count >= 0) == (len(nodes) > 0) {
				return usage(cmd, errors.New("give --new-replica-count, or to decrease --replicas-to-remove, and not both"))
			}
			return o.do(cmd, scenario.Step{Kind: kind, NodeGroup: o.nodeGroup, Count: max(count, 0), Nodes: nodes})
		},
	}
	o.add(cmd)
	f := cmd.Flags()
	f.IntVar(&count, "new-replica-count", -1, "how many replicas each node group shall have")
	f.StringVar(&o.nodeGroup, "node-group-id", "", "`id` of the node group (default: all)")
	if kind == scenario.DecreaseReplicas {
		f.StringSliceVar(&nodes, "replicas-to-remove", nil, "`ids` of the nodes to remove")
	}
	return cmd
}

func newShardsCommand() *cobra.Command {
	var o operation
	var count int
	var remove []string
	cmd := &cobra.Command{
		Use:   "shards",
		Short: "Have ElastiCache add or remove node groups, with their slots moved",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if count < 1 {
				return usage(cmd, errors.New("--node-group-count must be 1 or more"))
			}
			kind := scenario.AddShards
			if len(remove) > 0 {
				kind = scenario.RemoveShards
			}
			return o.do(cmd, scenario.Step{Kind: kind, Count: count, Nodes: remove})
		},
	}
	o.add(cmd)
	f := cmd.Flags()
	f.IntVar(&count, "node-group-count", 0, "how many node groups there shall be")
	f.StringSliceVar(&remove, "node-groups-to-remove", nil, "`ids` of those to remove, to have fewer")
	return cmd
}
