package observe

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/rankbench/rankbench/internal/result"
)

func unnamed(string) string { return "" }

// viewer is the answer of server id at addr who knows the members; its run id is its id.
func viewer(at time.Duration, id, addr string, members ...member) answer {
	for i := range members {
		members[i].myself = members[i].id == id
	}
	return answer{addr: addr, at: at, role: role{name: "primary"}, info: map[string]string{"run_id": id}, view: members}
}

func dead(at time.Duration, addr string) answer {
	return answer{addr: addr, at: at, err: errors.New("gone")}
}

func at(id, addr string) member { return member{id: id, addr: addr, ip: addr} }

// turn plays a round with the given answers and returns the addresses it shows;
// those that the topology does not name end in a question mark.
func turn(r *roster, answers ...answer) []string {
	byAddr := map[string]answer{}
	for _, a := range answers {
		byAddr[a.addr] = a
	}
	r.learn(byAddr)
	for _, a := range answers {
		if n := r.nodes[a.addr]; n != nil && a.err == nil {
			n.runID = a.info["run_id"]
		}
	}
	r.forget()
	var shown []string
	for _, s := range report(r, unnamed, byAddr) {
		if !s.listed {
			s.Addr += "?"
		}
		shown = append(shown, s.Addr)
	}
	return shown
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("shown %v, want %v", got, want)
	}
}

func TestNodeForgottenByAllOthersStaysForAMinute(t *testing.T) {
	a, b, s := at("a", "a:1"), at("b", "b:1"), time.Second
	r := newRoster(true, []string{"a:1"})
	expect(t, turn(&r, viewer(0, "a", "a:1", a, b), viewer(0, "b", "b:1", a, b)), "a:1", "b:1")
	expect(t, turn(&r, viewer(10*s, "a", "a:1", a), viewer(10*s, "b", "b:1", a, b)), "a:1", "b:1?")
	expect(t, turn(&r, viewer(59*s, "a", "a:1", a), dead(59*s, "b:1")), "a:1", "b:1?")
	expect(t, turn(&r, viewer(60*s, "a", "a:1", a), dead(60*s, "b:1")), "a:1")
}

func TestNodeIsKeptAsLongAsOneOtherNodeKnowsIt(t *testing.T) {
	a, b, c := at("a", "a:1"), at("b", "b:1"), at("c", "c:1")
	r := newRoster(true, []string{"a:1"})
	turn(&r, viewer(0, "a", "a:1", a, b, c))
	expect(t, turn(&r, viewer(time.Hour, "a", "a:1", a, c), viewer(time.Hour, "c", "c:1", a, b, c), dead(time.Hour, "b:1")), "a:1", "b:1", "c:1")
}

func TestNobodyIsForgottenWhileNobodyAnswers(t *testing.T) {
	a, b := at("a", "a:1"), at("b", "b:1")
	r := newRoster(true, []string{"a:1"})
	turn(&r, viewer(0, "a", "a:1", a, b), viewer(0, "b", "b:1", a, b))
	expect(t, turn(&r, dead(time.Hour, "a:1"), dead(time.Hour, "b:1")), "a:1", "b:1")
}

func TestClusterOfOneNodeIsShown(t *testing.T) {
	r := newRoster(true, []string{"endpoint:1"})
	self := at("a", "10.0.0.1:1")
	turn(&r, viewer(0, "a", "endpoint:1", self))
	expect(t, turn(&r, viewer(0, "a", "10.0.0.1:1", self)), "10.0.0.1:1")
}

func TestSeedsThatDoNotAnswerAreShown(t *testing.T) {
	r := newRoster(true, []string{"a:1", "b:1"})
	expect(t, turn(&r, dead(0, "a:1"), dead(0, "b:1")), "a:1", "b:1")
}

func TestClusterSeedsAreAskedAgainWhenNoNodeAnswers(t *testing.T) {
	r := newRoster(true, []string{"endpoint:1"})
	a := at("a", "a:1")
	turn(&r, viewer(0, "a", "endpoint:1", a), viewer(0, "a", "a:1", a))
	if got := len(r.unasked(nil)); got != 1 {
		t.Errorf("%d addresses to ask, want 1: the endpoint is no node", got)
	}
	turn(&r, dead(time.Second, "a:1"))
	if got := len(r.unasked(nil)); got != 2 {
		t.Errorf("%d addresses to ask, want 2: the endpoint may lead to a new node", got)
	}
}

func roleAnswer(at time.Duration, addr, runID string, ro role) answer {
	return answer{addr: addr, at: at, role: ro, info: map[string]string{"run_id": runID}}
}

func TestEndpointIsTheSameServerAsItsNode(t *testing.T) {
	r := newRoster(false, []string{"master.lb:6379"})
	primary := role{name: "primary", replicas: []string{"10.0.0.2:6379"}}
	replica := role{name: "replica", primary: "10.0.0.1:6379"}
	turn(&r, roleAnswer(0, "master.lb:6379", "run-1", primary), roleAnswer(0, "10.0.0.2:6379", "run-2", replica))
	both := turn(&r, roleAnswer(1, "master.lb:6379", "run-1", primary), roleAnswer(1, "10.0.0.2:6379", "run-2", replica), roleAnswer(1, "10.0.0.1:6379", "run-1", primary))
	expect(t, both, "10.0.0.1:6379", "10.0.0.2:6379")
	down := turn(&r, dead(2, "master.lb:6379"), roleAnswer(2, "10.0.0.2:6379", "run-2", replica), dead(2, "10.0.0.1:6379"))
	expect(t, down, "10.0.0.1:6379", "10.0.0.2:6379")
	moved := turn(&r, roleAnswer(3, "master.lb:6379", "run-2", role{name: "primary"}), roleAnswer(3, "10.0.0.2:6379", "run-2", role{name: "primary"}), dead(3, "10.0.0.1:6379"))
	expect(t, moved, "10.0.0.1:6379", "10.0.0.2:6379")
}

func TestLagIsBehindTheOwnPrimaryAndNeverNegative(t *testing.T) {
	node := func(addr, primary string, offset int64) sighting {
		return sighting{NodeSample: result.NodeSample{ID: addr, Addr: addr, Up: true, PrimaryAddr: primary, ReplOffset: offset}}
	}
	seen := []sighting{node("p", "", 1000), node("q", "", 5), node("behind", "p", 400), node("ahead", "p", 1010), node("other", "q", 2), node("orphan", "x", 2)}
	setLag(seen)
	for i, want := range []int64{0, 0, 600, 0, 3, 0} {
		if got := seen[i].LagBytes; got != want {
			t.Errorf("%s: lag %d, want %d", seen[i].ID, got, want)
		}
	}
}
