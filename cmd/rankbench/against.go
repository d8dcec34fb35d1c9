package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/state"
	"github.com/rankbench/rankbench/internal/run"
	"github.com/rankbench/rankbench/internal/scenario"
	"github.com/rankbench/rankbench/internal/target"
)

// targetFlags say what a command goes against: a config, the local ElastiCache
// of this folder, or one of its own.
type targetFlags struct {
	config string
	local  bool
	yes    bool
}

func (t *targetFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&t.config, "config", "c", "", "`file` that says against what (default: the local ElastiCache of this folder)")
	f.BoolVar(&t.yes, "yes", false, "answer every question with yes (this version asks none)")
	f.BoolVar(&t.local, "local", false, "start a local ElastiCache for this command alone, and remove it afterwards")
}

// against is a target that is there.
type against struct {
	config *config.Config
	names  map[string]string // node's id by address
	local  bool
	close  func() error
}

func (t *targetFlags) open(ctx context.Context, cmd *cobra.Command, sc *scenario.Scenario) (*against, error) {
	switch {
	case t.local && t.config != "":
		return nil, usage(cmd, errors.New("--local and --config exclude each other"))
	case t.local:
		return startLocal(ctx, sc)
	case t.config != "":
		return readConfig(t.config)
	default:
		return localOfFolder()
	}
}

func readConfig(path string) (*against, error) {
	cfg, err := config.Read(path, target.CheckOption)
	if err != nil {
		return nil, fail.WithCode(err, fail.CodeUsage)
	}
	return &against{config: cfg, close: func() error { return nil }}, nil
}

func localOfFolder() (*against, error) {
	s, err := state.Read(localFolder)
	switch {
	case errors.Is(err, state.ErrNone), errors.Is(err, state.ErrStale):
		return nil, fail.WithHint(fmt.Errorf("find a target: %w", err),
			"start one with `rankbench local up --detach`, or give --local or --config FILE")
	case err != nil:
		return nil, fmt.Errorf("find a target: %w", err)
	}
	a := &against{config: config.ForAddresses(s.Addrs()), names: map[string]string{}, local: true, close: func() error { return nil }}
	for _, n := range s.Nodes {
		a.names[n.Addr] = n.ID
	}
	return a, nil
}

// localLimit bounds the start of a local cluster.
const localLimit = time.Minute

func startLocal(ctx context.Context, sc *scenario.Scenario) (*against, error) {
	o := cluster.Options{Shards: 1, Replicas: 2, FullCoverage: true, Log: os.Stderr}
	if t := sc.Topology; t != nil {
		o.Shards, o.Replicas = t.Shards, t.Replicas
	}
	ctx, cancel := context.WithTimeout(ctx, localLimit)
	defer cancel()
	c, err := cluster.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "local cluster of %d shards with %d replicas each is up\n", o.Shards, o.Replicas)
	a := &against{config: config.ForAddresses(c.Addrs()), names: map[string]string{}, local: true, close: c.Stop}
	for _, n := range c.Nodes() {
		a.names[n.Addr] = n.ID
	}
	return a, nil
}

// scenarioFlags are the overrides of a scenario.
type scenarioFlags struct{ overrides scenario.Overrides }

func (s *scenarioFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&s.overrides.Set, "set", nil, "override a scenario value: `path=value`, such as phases.0.duration=30s (repeatable)")
	f.DurationVar(&s.overrides.Duration, "duration", 0, "measured `time` of each phase, instead of the scenario's")
}

func (s *scenarioFlags) read(cmd *cobra.Command, path string) (*scenario.Scenario, error) {
	if s.overrides.Duration < 0 || cmd.Flags().Changed("duration") && s.overrides.Duration == 0 {
		return nil, usage(cmd, errors.New("--duration must be above 0"))
	}
	sc, err := scenario.Read(path, s.overrides)
	if err != nil {
		return nil, fail.WithCode(err, fail.CodeUsage)
	}
	return sc, nil
}

// options puts together what run needs.
func (a *against) options(sc *scenario.Scenario) (run.Options, *stderrNotes) {
	notes := newNotes()
	return run.Options{
		Scenario: sc, Config: a.config, Local: a.local, Versions: versions(), Notes: notes,
		NodeName: func(addr string) string { return a.names[addr] },
	}, notes
}
