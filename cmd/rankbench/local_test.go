//go:build unix

package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rankbench/rankbench/internal/fail"
	"github.com/rankbench/rankbench/internal/local"
	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
	"github.com/rankbench/rankbench/internal/local/control"
	"github.com/rankbench/rankbench/internal/local/state"
	"github.com/rankbench/rankbench/internal/scenario"
)

// smallLocal starts a local ElastiCache of one node in a folder of its own.
func smallLocal(t *testing.T) *local.Local {
	t.Helper()
	clustertest.Require(t)
	t.Chdir(t.TempDir())
	o := localOptions(&scenario.Scenario{Topology: &scenario.Topology{Shards: 1}})
	o.Log = nil
	l, err := local.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestASecretIsWrittenOnlyBesideOnesOwnState(t *testing.T) {
	l := smallLocal(t)
	winner, err := cluster.Identify(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(state.Write(localFolder, state.State{Owner: winner}), state.WriteSecret(localFolder, "the winner's"))
	if err != nil {
		t.Fatal(err)
	}
	board := notice{secret: "mine"}
	if _, err := board.post(l); !errors.Is(err, state.ErrUp) {
		t.Errorf("a winner is up: %v", err)
	}
	expectSecret(t, "the winner's\n")
	if err := state.Remove(localFolder); err != nil {
		t.Fatal(err)
	}
	if _, err := board.post(l); err != nil {
		t.Error(err)
	}
	expectSecret(t, "mine\n")
	if err := board.takeDown(); err != nil {
		t.Error(err)
	}
	expectNothing(t)
}

func TestASecretThatCannotBeWrittenTakesTheStateAlong(t *testing.T) {
	l := smallLocal(t)
	if err := os.MkdirAll(state.SecretPath(localFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	board := notice{secret: "mine"}
	if _, err := board.post(l); err == nil {
		t.Error("it was written into a folder")
	}
	if board.posted != nil {
		t.Error("it counts as posted")
	}
	expectNothing(t)
}

func expectSecret(t *testing.T, want string) {
	t.Helper()
	if got, err := os.ReadFile(state.SecretPath(localFolder)); err != nil || string(got) != want {
		t.Errorf("secret %q (%v), want %q", got, err, want)
	}
}

func expectNothing(t *testing.T) {
	t.Helper()
	if entries, err := os.ReadDir(localFolder); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v (%v)", entries, err)
	}
}

func TestNothingIsKeptIfSomethingHasChangedMeanwhile(t *testing.T) {
	for name, row := range map[string]struct {
		change func(now *state.State)
		want   string // "" = it may be kept
	}{
		"nothing":                {func(*state.State) {}, ""},
		"a deletion has ended":   {func(now *state.State) { now.Groups = now.Groups[:2] }, ""},
		"another owner":          {func(now *state.State) { now.Owner.PID++ }, "changed meanwhile"},
		"an operation has begun": {func(now *state.State) { now.Groups[1].Busy = "a reboot of b-001" }, "keep b: a reboot of b-001 goes on"},
		"a status":               {func(now *state.State) { now.Groups[0].Status = control.Modifying }, "keep a: it is modifying"},
		"a node was replaced":    {func(now *state.State) { now.Nodes[1].PID = 9 }, "changed meanwhile"},
		"a node was added":       {func(now *state.State) { now.Nodes = append(now.Nodes, state.Node{Group: "b", ID: "b-002"}) }, "changed meanwhile"},
		"a group was created": {func(now *state.State) {
			now.Groups = append(now.Groups, state.Group{ID: "d", Status: control.Available})
		}, "changed meanwhile"},
		"a group is being deleted": {func(now *state.State) { now.Groups[1].Status, now.Groups[1].Busy = control.Deleting, "its deletion" }, "changed meanwhile"},
		"a group is gone":          {func(now *state.State) { now.Groups = now.Groups[:1] }, "changed meanwhile"},
	} {
		t.Run(name, func(t *testing.T) {
			before := state.State{
				Groups: []state.Group{
					{ID: "a", Status: control.Available}, {ID: "b", Status: control.Available},
					{ID: "c", Status: control.Deleting, Busy: "its deletion"},
				},
				Nodes: []state.Node{{Group: "a", ID: "a-001", PID: 1}, {Group: "b", ID: "b-001", PID: 2}},
			}
			now := before
			now.Groups, now.Nodes = slices.Clone(before.Groups), slices.Clone(before.Nodes)
			row.change(&now)
			err := compareStates(before, now)
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}

func TestStatusFailsUnlessANodeIsKnownToBeUp(t *testing.T) {
	for name, row := range map[string]struct {
		states []string
		want   string // "" = no error
		hint   bool
	}{
		"one is up":      {[]string{nodeDown, nodeUnknown, nodeUp}, "", false},
		"one is unknown": {[]string{nodeDown, nodeUnknown}, "none of the nodes is known to be up", false},
		"all are down":   {[]string{nodeDown, nodeDown}, "none of the nodes is up", true},
		"there are none": {nil, "none of the nodes is up", true},
	} {
		t.Run(name, func(t *testing.T) {
			var nodes []nodeStatus
			for _, s := range row.states {
				nodes = append(nodes, nodeStatus{State: s})
			}
			err := checkUp(nodes)
			if (err == nil) != (row.want == "") || err != nil && err.Error() != row.want || (fail.HintOf(err) != "") != row.hint {
				t.Errorf("%v, hint %q; want %q", err, fail.HintOf(err), row.want)
			}
		})
	}
}
