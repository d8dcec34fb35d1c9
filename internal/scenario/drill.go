package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Kinds of steps, as a scenario file has them.
const (
	TestFailover     = "test_failover"
	IncreaseReplicas = "increase_replicas"
	DecreaseReplicas = "decrease_replicas"
	AddShards        = "add_shards"
	RemoveShards     = "remove_shards"
	Reboot           = "reboot"
	Kill             = "kill"   // local targets: the process of a node
	Hang             = "hang"   // local targets: it is stopped, and its connections hang
	Resume           = "resume" // local targets: what was hung goes on
	Wait             = "wait"
)

// Recovered is the condition of a step that waits until the one before it is
// done and everything is healthy again.
const Recovered = "recovered"

// Refused is the outcome of a step that ElastiCache is to refuse.
const Refused = "refused"

// Drill is what is done to the target while the load runs.
type Drill struct {
	Steps    []Step
	Settle   time.Duration // how long a step's recovery, and the group at the end, are waited for
	Repeat   int           // runs of the whole, at least 1
	Cooldown time.Duration // between two of them, from when everything is healthy
}

// Step is one action. It begins At an offset from the start of the run or, where
// After is set, Delay after the step before has come to that.
type Step struct {
	At    time.Duration
	After string // Recovered, or "" for At
	Delay time.Duration

	Expect    string // Refused, or "" for a step that is to be done
	Kind      string
	NodeGroup string        // 0001; "" is the one that holds the ranking (replicas: all of them)
	Count     int           // replicas or shards: how many there shall be afterwards; 0 with Nodes, where that is not meant
	Nodes     []string      // decrease_replicas, remove_shards: what to remove; reboot, kill, hang, resume: at most one
	Role      string        // kill, hang, resume, reboot without Nodes: primary or replica
	For       time.Duration // wait
	Restore   bool          // put the count back at the end
}

type drillKeys struct {
	Steps    []stepKeys     `yaml:"steps,required"`
	Settle   *time.Duration `yaml:"settle"`
	Repeat   *int           `yaml:"repeat"`
	Cooldown time.Duration  `yaml:"cooldown"`
}

type stepKeys struct {
	At    *time.Duration `yaml:"at"`
	After *string        `yaml:"after"`
	Delay time.Duration  `yaml:"delay"`

	Expect           *string       `yaml:"expect"`
	TestFailover     *failoverKeys `yaml:"test_failover"`
	IncreaseReplicas *increaseKeys `yaml:"increase_replicas"`
	DecreaseReplicas *decreaseKeys `yaml:"decrease_replicas"`
	AddShards        *addKeys      `yaml:"add_shards"`
	RemoveShards     *removeKeys   `yaml:"remove_shards"`
	Reboot           *nodeKeys     `yaml:"reboot"`
	Kill             *nodeKeys     `yaml:"kill"`
	Hang             *nodeKeys     `yaml:"hang"`
	Resume           *nodeKeys     `yaml:"resume"`
	Wait             *waitKeys     `yaml:"wait"`
}

type failoverKeys struct {
	NodeGroup string `yaml:"node_group"`
}

type increaseKeys struct {
	NodeGroup string `yaml:"node_group"`
	Count     int    `yaml:"count,required"`
	Restore   bool   `yaml:"restore"`
}

type decreaseKeys struct {
	NodeGroup string   `yaml:"node_group"`
	Count     *int     `yaml:"count"`
	Nodes     []string `yaml:"nodes"`
	Restore   bool     `yaml:"restore"`
}

type addKeys struct {
	Count   int  `yaml:"count,required"`
	Restore bool `yaml:"restore"`
}

type removeKeys struct {
	Count      int      `yaml:"count,required"`
	NodeGroups []string `yaml:"node_groups"`
	Restore    bool     `yaml:"restore"`
}

type nodeKeys struct {
	NodeGroup string `yaml:"node_group"`
	Role      string `yaml:"role"`
	Node      string `yaml:"node"`
}

type waitKeys struct {
	For time.Duration `yaml:"for,required"`
}

const (
	defaultSettle = 30 * time.Minute
	maxRepeat     = 100
	maxSteps      = 100
)

// drill checks the drill of a scenario whose load lasts for a time.
func (c check) drill(k *drillKeys, load time.Duration) *Drill {
	if k == nil {
		return nil
	}
	d := &Drill{Settle: or(k.Settle, defaultSettle), Repeat: or(k.Repeat, 1), Cooldown: k.Cooldown}
	positive(c, "drill.settle", d.Settle, maxDuration)
	within(c, "drill.repeat", d.Repeat, 1, maxRepeat)
	within(c, "drill.cooldown", d.Cooldown, 0, maxDuration)
	if c.doc.Has("drill.steps") && (len(k.Steps) == 0 || len(k.Steps) > maxSteps) {
		c.doc.Errorf("drill.steps", "has %d steps; 1 to %d are possible", len(k.Steps), maxSteps)
	}
	var last time.Duration
	for i, keys := range k.Steps {
		path := fmt.Sprintf("drill.steps.%d", i)
		s := c.step(path, keys)
		c.when(path, i, s, keys, last, load)
		last = max(last, s.At)
		d.Steps = append(d.Steps, s)
	}
	return d
}

// when checks the time of step i; load is how long the load lasts, if that is known.
func (c check) when(path string, i int, s Step, k stepKeys, last, load time.Duration) {
	switch {
	case (k.At == nil) == (k.After == nil):
		c.doc.Errorf(path, "needs at (an offset such as 2m) or after: %s, and not both", Recovered)
	case k.After != nil && i == 0:
		c.doc.Errorf(path+".after", "the first step has none before it; give it an at")
	case k.After != nil:
		c.oneOf(path+".after", *k.After, Recovered)
		within(c, path+".delay", s.Delay, 0, maxDuration)
	case s.At < last:
		c.doc.Errorf(path+".at", "%v is before the step above, which is at %v", s.At, last)
	default:
		within(c, path+".at", s.At, 0, maxDuration)
		if load > 0 && s.At >= load {
			c.doc.Errorf(path+".at", "%v is not within the load, which ends at %v", s.At, load)
		}
		if c.doc.Has(path + ".delay") {
			c.doc.Errorf(path+".delay", "goes with after")
		}
	}
}

// step reads one step, which has exactly one action.
func (c check) step(path string, k stepKeys) Step {
	actions := k.actions()
	var s Step
	if len(actions) == 1 {
		s = actions[0]
		c.action(path+"."+s.Kind, s, k)
	} else {
		c.doc.Errorf(path, "has %d actions; each step has exactly one of: %s", len(actions), strings.Join(stepKinds, ", "))
	}
	if k.Expect != nil {
		c.expect(path+".expect", *k.Expect, s)
	}
	s.At, s.After, s.Delay, s.Expect = or(k.At, 0), or(k.After, ""), k.Delay, or(k.Expect, "")
	return s
}

// expect checks the outcome that a step is to have: only what ElastiCache is asked
// for can be refused.
func (c check) expect(path, outcome string, s Step) {
	c.oneOf(path, outcome, Refused)
	switch s.Kind {
	case Wait, Kill, Hang, Resume:
		c.doc.Errorf(path, "%s asks ElastiCache for nothing, which could be refused", s.Kind)
	}
}

// actions are those that are given.
func (k stepKeys) actions() (found []Step) {
	if a := k.TestFailover; a != nil {
		found = append(found, Step{Kind: TestFailover, NodeGroup: a.NodeGroup})
	}
	if a := k.IncreaseReplicas; a != nil {
		found = append(found, Step{Kind: IncreaseReplicas, NodeGroup: a.NodeGroup, Count: a.Count, Restore: a.Restore})
	}
	if a := k.DecreaseReplicas; a != nil {
		found = append(found, Step{Kind: DecreaseReplicas, NodeGroup: a.NodeGroup, Count: or(a.Count, 0), Nodes: a.Nodes, Restore: a.Restore})
	}
	if a := k.AddShards; a != nil {
		found = append(found, Step{Kind: AddShards, Count: a.Count, Restore: a.Restore})
	}
	if a := k.RemoveShards; a != nil {
		found = append(found, Step{Kind: RemoveShards, Count: a.Count, Nodes: a.NodeGroups, Restore: a.Restore})
	}
	if a := k.Wait; a != nil {
		found = append(found, Step{Kind: Wait, For: a.For})
	}
	for kind, a := range map[string]*nodeKeys{Reboot: k.Reboot, Kill: k.Kill, Hang: k.Hang, Resume: k.Resume} {
		if a != nil {
			found = append(found, a.step(kind))
		}
	}
	return found
}

var stepKinds = []string{TestFailover, IncreaseReplicas, DecreaseReplicas, AddShards, RemoveShards, Reboot, Wait, Kill, Hang, Resume}

func (k nodeKeys) step(kind string) Step {
	s := Step{Kind: kind, NodeGroup: k.NodeGroup, Role: k.Role}
	if k.Node != "" {
		s.Nodes = []string{k.Node}
	}
	return s
}

var nodeGroupID = regexp.MustCompile(`^\d{1,4}$`)

// action checks what a step of a kind needs.
func (c check) action(path string, s Step, k stepKeys) {
	if s.NodeGroup != "" && !nodeGroupID.MatchString(s.NodeGroup) {
		c.doc.Errorf(path+".node_group", "%q is not the id of a node group, such as \"0001\"", s.NodeGroup)
	}
	switch s.Kind {
	case IncreaseReplicas:
		within(c, path+".count", s.Count, 1, maxReplicas)
	case DecreaseReplicas:
		if (k.DecreaseReplicas.Count == nil) == (len(s.Nodes) == 0) {
			c.doc.Errorf(path, "needs count (how many replicas there shall be afterwards) or nodes, and not both")
		}
		within(c, path+".count", s.Count, 0, maxReplicas)
	case AddShards:
		within(c, path+".count", s.Count, 2, maxShards)
	case RemoveShards:
		within(c, path+".count", s.Count, 1, maxShards)
	case Wait:
		positive(c, path+".for", s.For, maxDuration)
	case Reboot, Kill, Hang, Resume:
		if (s.Role == "") == (len(s.Nodes) == 0) {
			c.doc.Errorf(path, "needs role (primary or replica) or node, and not both")
		} else if s.Role != "" {
			c.oneOf(path+".role", s.Role, "primary", "replica")
		}
	}
	for i, n := range s.Nodes {
		if strings.TrimSpace(n) == "" || slices.Contains(s.Nodes[:i], n) {
			c.doc.Errorf(path+".nodes", "names %q twice, or no node at all", n)
		}
	}
}
