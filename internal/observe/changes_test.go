package observe

import (
	"maps"
	"slices"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

func up(at float64, id, role, primary, run, link string) sighting {
	return sighting{result.NodeSample{AtS: at, ID: id, Addr: id + ":1", Up: true, Role: role, PrimaryAddr: primary, RunID: run, Link: link}, true}
}

func down(at float64, id, why string) sighting {
	return sighting{result.NodeSample{AtS: at, ID: id, Addr: id + ":1", Error: why}, true}
}

func unlisted(s sighting) sighting { s.listed = false; return s }

// nameless is a node whose id is not known.
func nameless(s sighting) sighting { s.ID = s.Addr; return s }

func moved(s sighting, addr string) sighting { s.Addr = addr; return s }

func TestChangesBecomeEvents(t *testing.T) {
	primary := func(at float64) sighting { return up(at, "a", "primary", "", "r1", "") }
	replica := func(at float64, link string) sighting { return up(at, "b", "replica", "a:1", "r2", link) }
	loading := primary(2)
	loading.Error = "loading"
	for _, tt := range []struct {
		name   string
		rounds [][]sighting
		want   []string
	}{
		{"nothing changed", [][]sighting{{primary(1), replica(1, "up")}, {primary(2), replica(2, "up")}}, nil},
		{"down from the start", [][]sighting{{down(1, "a", "refused")}}, []string{"a: unreachable: refused"}},
		{"up later than the start", [][]sighting{{down(1, "a", "refused")}, {primary(3.5)}}, []string{"a: unreachable: refused", "a: reachable again after 2.50s"}},
		{"down once is told once", [][]sighting{{primary(1)}, {down(2, "a", "timeout")}, {down(3, "a", "timeout")}}, []string{"a: unreachable: timeout"}},
		{
			"failover and return", [][]sighting{
				{primary(1), replica(1, "up")},
				{down(2, "a", "refused"), replica(2, "down")},
				{down(9, "a", "refused"), up(9, "b", "primary", "", "r2", "")},
				{up(12, "a", "replica", "b:1", "r3", "down"), up(12, "b", "primary", "", "r2", "")},
				{up(13, "a", "replica", "b:1", "r3", "up"), up(13, "b", "primary", "", "r2", "")},
			},
			[]string{
				"a: unreachable: refused", "b: replication link down", "b: is primary (was a)",
				"a: reachable again after 10.00s", "a: restarted", "a: is replica of b", "a: replication link up after 1.00s",
			},
		},
		{"moved to another primary", [][]sighting{{replica(1, "up")}, {up(2, "b", "replica", "c:1", "r2", "up")}}, []string{"b: is replica of c:1"}},
		{"link lost and back", [][]sighting{{replica(1, "up")}, {replica(2, "down")}, {replica(4, "up")}}, []string{"b: replication link down", "b: replication link up after 2.00s"}},
		{"joined", [][]sighting{{primary(1)}, {primary(2), replica(2, "down")}}, []string{"b: joined the topology as replica of a"}},
		{"joined before it answers", [][]sighting{{primary(1)}, {primary(2), down(2, "b", "refused")}, {primary(3), replica(3, "up")}}, []string{"b: joined the topology", "b: unreachable: refused", "b: reachable again after 1.00s"}},
		{"left, and is dropped later", [][]sighting{{primary(1), replica(1, "up")}, {primary(2), unlisted(replica(2, "up"))}, {primary(62)}}, []string{"b: left the topology"}},
		{"dropped without leaving before", [][]sighting{{primary(1), replica(1, "up")}, {primary(2)}}, []string{"b: left the topology"}},
		{
			"known by its address at first", [][]sighting{
				{primary(1)},
				{primary(2), nameless(replica(2, "up"))},
				{primary(3), replica(3, "up")},
				{primary(4), replica(4, "up")},
				{primary(5), unlisted(replica(5, "up"))},
			},
			[]string{"b:1: joined the topology as replica of a", "b:1: is b", "b: left the topology"},
		},
		{
			"replaced at another address", [][]sighting{
				{primary(1), replica(1, "up")},
				{down(2, "a", "refused"), up(2, "b", "primary", "", "r2", "")},
				{unlisted(down(3, "a", "refused")), up(3, "b", "primary", "", "r2", ""), nameless(moved(up(3, "a", "replica", "b:1", "r3", "up"), "n:1"))},
				{nameless(unlisted(down(4, "a", "refused"))), moved(up(4, "a", "replica", "b:1", "r3", "up"), "n:1"), up(4, "b", "primary", "", "r2", "")},
				{nameless(unlisted(down(5, "a", "refused"))), moved(up(5, "a", "replica", "b:1", "r3", "up"), "n:1"), up(5, "b", "primary", "", "r2", "")},
				{moved(up(6, "a", "replica", "b:1", "r3", "up"), "n:1"), up(6, "b", "primary", "", "r2", "")},
			},
			[]string{
				"a: unreachable: refused", "b: is primary (was a)", "a: left the topology", "n:1: joined the topology as replica of b",
				"n:1: is a", "a: reachable again after 2.00s", "a: restarted", "a: is replica of b",
			},
		},
		{"loading", [][]sighting{{primary(1)}, {loading}, {primary(3)}}, []string{"a: loading its data set", "a: has loaded its data set"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, got := newChanges(true), []string(nil)
			for _, round := range tt.rounds {
				for _, e := range c.since(round) {
					got = append(got, e.Subject+": "+e.Message)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestEventsSayWhatTheyMark(t *testing.T) {
	c, got := newChanges(true), map[string]string{}
	a, b := up(1, "a", "primary", "", "r1", ""), up(2, "b", "replica", "a:1", "r2", "up")
	for _, round := range [][]sighting{{a}, {a, b}, {unlisted(a), up(3, "b", "primary", "", "r2", "")}, {b}} {
		for _, e := range c.since(round) {
			got[e.Subject+" "+e.Message] = e.Kind
		}
	}
	want := map[string]string{
		"b joined the topology as replica of a": result.NodeJoined, "a left the topology": result.NodeLeft,
		"b is primary (was a)": result.NewPrimary, "b is replica of a": "",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEventsOfARoundAreInOrderOfTime(t *testing.T) {
	c := newChanges(true)
	c.since([]sighting{up(1, "a", "primary", "", "r1", ""), up(1, "b", "replica", "a:1", "r2", "up")})
	events := c.since([]sighting{down(2.3, "a", "timeout"), up(2.1, "b", "replica", "a:1", "r2", "down")})
	if len(events) != 2 || events[0].Subject != "b" || events[0].AtS != 2.1 || events[0].Source != "node" {
		t.Errorf("got %+v", events)
	}
}
