package observe

import (
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
				"a: unreachable: refused", "b: replication link down", "b: became primary",
				"a: reachable again after 10.00s", "a: restarted", "a: became replica of b", "a: replication link up after 1.00s",
			},
		},
		{"moved to another primary", [][]sighting{{replica(1, "up")}, {up(2, "b", "replica", "c:1", "r2", "up")}}, []string{"b: became replica of c:1"}},
		{"link lost and back", [][]sighting{{replica(1, "up")}, {replica(2, "down")}, {replica(4, "up")}}, []string{"b: replication link down", "b: replication link up after 2.00s"}},
		{"joined", [][]sighting{{primary(1)}, {primary(2), replica(2, "down")}}, []string{"b: joined the topology as replica of a"}},
		{"joined before it answers", [][]sighting{{primary(1)}, {primary(2), down(2, "b", "refused")}, {primary(3), replica(3, "up")}}, []string{"b: joined the topology", "b: unreachable: refused", "b: reachable again after 1.00s"}},
		{"left, and is dropped later", [][]sighting{{primary(1), replica(1, "up")}, {primary(2), unlisted(replica(2, "up"))}, {primary(62)}}, []string{"b: left the topology"}},
		{"dropped without leaving before", [][]sighting{{primary(1), replica(1, "up")}, {primary(2)}}, []string{"b: left the topology"}},
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

func TestEventsOfARoundAreInOrderOfTime(t *testing.T) {
	c := newChanges(true)
	c.since([]sighting{up(1, "a", "primary", "", "r1", ""), up(1, "b", "replica", "a:1", "r2", "up")})
	events := c.since([]sighting{down(2.3, "a", "timeout"), up(2.1, "b", "replica", "a:1", "r2", "down")})
	if len(events) != 2 || events[0].Subject != "b" || events[0].AtS != 2.1 || events[0].Source != "node" {
		t.Errorf("got %+v", events)
	}
}
