package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local"
	"github.com/rankbench/rankbench/internal/local/control"
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
	f.BoolVar(&t.yes, "yes", false, "answer every question with yes")
	f.BoolVar(&t.local, "local", false, "start a local ElastiCache for this command alone, and remove it afterwards")
}

// against is a target that is there.
type against struct {
	config *config.Config
	name   func(addr string) string // node's id by address, "" where it is not known
	local  bool
	pid    func(id string) int // of a local node's process; nil elsewhere
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
	return &against{config: cfg, name: nameless, close: func() error { return nil }}, nil
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
	if len(s.Addrs()) == 0 {
		return nil, fail.WithHint(fmt.Errorf("find a target: replication group %s of the local ElastiCache is gone", s.Group),
			"`rankbench local down` and `rankbench local up --detach`, or give --local or --config FILE")
	}
	current := func() (state.State, error) { return state.Read(localFolder) }
	return againstState(s, current, func() error { return nil }), nil
}

func nameless(string) string { return "" }

// againstState goes against the first group of a local ElastiCache; current
// tells its state later on.
func againstState(s state.State, current func() (state.State, error), stop func() error) *against {
	n := &nodeNames{current: current, byAddr: map[string]string{}}
	n.learn(s)
	return &against{config: localConfig(s), name: n.of, local: true, pid: pidsOf(current), close: stop}
}

// pidsOf tells the present process of a node by its id, 0 where it has none.
func pidsOf(current func() (state.State, error)) func(string) int {
	return func(id string) int {
		s, err := current()
		if err != nil {
			return 0
		}
		for _, n := range s.Nodes {
			if n.ID == id {
				return n.PID
			}
		}
		return 0
	}
}

// nodeNames knows the nodes of a local ElastiCache by their addresses. Nodes
// come and go: it looks again for one it does not know.
type nodeNames struct {
	current func() (state.State, error)

	mu     sync.Mutex
	byAddr map[string]string
}

func (n *nodeNames) learn(s state.State) {
	for _, node := range s.Nodes {
		n.byAddr[node.Addr] = node.ID
	}
}

func (n *nodeNames) of(addr string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byAddr[addr] == "" {
		if s, err := n.current(); err == nil { // a name less is no failure
			n.learn(s)
		}
	}
	return n.byAddr[addr]
}

// localConfig is the config that a user would have to write for s.
func localConfig(s state.State) *config.Config {
	c := config.ForAddresses(s.Addrs())
	if !s.ClusterEnabled {
		c.Target = config.Target{Mode: config.Endpoints, Primary: s.Primary, Reader: s.Reader, Resolver: s.Resolver}
	}
	if s.CAFile != "" {
		c.Target.TLS = &config.TLS{CAFile: s.CAFile}
	}
	c.Target.PasswordFile = s.PasswordFile
	c.AWS = config.AWS{Group: s.Group, Region: s.Region, EndpointURL: s.API}
	return c
}

// localLimit bounds the start of a local ElastiCache.
const localLimit = time.Minute

// startLocal starts a local ElastiCache for this command alone, and points the
// AWS SDK of this process at it.
func startLocal(ctx context.Context, sc *scenario.Scenario) (*against, error) {
	ctx, cancel := context.WithTimeout(ctx, localLimit)
	defer cancel()
	if err := os.Unsetenv(tokenVariable); err != nil { // the servers would inherit it
		return nil, err
	}
	o := localOptions(sc)
	l, err := local.Up(ctx, o)
	if err != nil {
		return nil, err
	}
	s, err := l.State()
	if err == nil {
		err = setEnvironment(awsVariables(s))
	}
	if err != nil {
		return nil, errors.Join(err, l.Stop())
	}
	fmt.Fprintf(os.Stderr, "local ElastiCache of %d shards with %d replicas each is up, AWS API at %s\n",
		*o.Group.NumNodeGroups, *o.Group.ReplicasPerGroup, s.API)
	return againstState(s, l.State, l.Stop), nil
}

func localOptions(sc *scenario.Scenario) local.Options {
	f := upFlags{
		group: "lb", clusterMode: "enabled", shards: 1, replicas: 2, region: "us-east-1",
		nodeType: control.DefaultNodeType, timings: control.Fast, timeScale: 1,
	}
	if t := sc.Topology; t != nil {
		f.shards, f.replicas = t.Shards, t.Replicas
		f.clusterMode = cmp.Or(t.ClusterMode, f.clusterMode)
	}
	profile, _ := f.profile() // fails only for flags of another name
	return local.Options{
		Control: control.Options{Region: f.region, Timings: profile, NodeTimeout: f.timeout(), FullCoverage: true},
		Group:   f.createInput(), Log: terminal.stderr(),
	}
}

// setEnvironment sets the variables for this process.
func setEnvironment(variables []variable) error {
	for _, name := range notLocal {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	for _, v := range variables {
		if err := os.Setenv(v.name, v.value); err != nil {
			return err
		}
	}
	return nil
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
		NodeName: a.name,
	}, notes
}
