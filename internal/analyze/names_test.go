package analyze

import (
	"cmp"
	"reflect"
	"slices"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

// place is an address.
type place string

// at is a sample of the replica that is there, id "" where that is not known.
func (p place) at(at float64, id string, zscore uint64, change ...func(*result.NodeSample)) result.NodeSample {
	s := sample(cmp.Or(id, string(p)), "replica", at, calls(0, zscore), change...)
	s.Addr = string(p)
	return s
}

func endpoint(s *result.NodeSample) {
	*s = result.NodeSample{AtS: s.AtS, ID: s.ID, Up: true, Role: "endpoint", Driver: &result.DriverSample{Attempts: 7}}
}

// rounds are lines with the samples of the rounds, one a second.
func rounds(list ...[]result.NodeSample) []result.Interval {
	lines := []result.Interval{begin(0, 0, 10)}
	for _, samples := range list {
		iv := interval(0, samples[0].AtS-1, samples[0].AtS)
		iv.Nodes = samples
		lines = append(lines, iv)
	}
	return append(lines, end(0, 0, 10, nil), last(10))
}

func named(t *testing.T, lines []result.Interval) []result.Interval {
	t.Helper()
	names := NewNames()
	for _, iv := range lines {
		if err := names.Learn(iv); err != nil {
			t.Fatal(err)
		}
	}
	lines = slices.Clone(lines)
	for i := range lines {
		names.Apply(&lines[i])
	}
	return lines
}

func TestSamplesWithoutAnIDAreOfTheNodeThatTheirAddressTurnsOutToBe(t *testing.T) {
	a, x, y := place("a:1"), place("x:1"), place("y:1")
	type seen struct {
		id, addr string
		roles    []result.RoleSpan
		zscore   uint64
		restarts int
	}
	replica := func(from float64) []result.RoleSpan { return []result.RoleSpan{{FromS: from, Role: "replica"}} }
	for _, tt := range []struct {
		name   string
		rounds [][]result.NodeSample
		want   []seen
	}{
		{"known later", [][]result.NodeSample{{a.at(1, "a", 0)}, {a.at(2, "a", 5), x.at(2, "", 1)}, {a.at(3, "a", 5), x.at(3, "b", 4)}, {a.at(4, "a", 5), x.at(4, "b", 9)}}, []seen{
			{"a", "a:1", replica(1), 5, 0}, {"b", "x:1", replica(2), 8, 0},
		}},
		{"never known", [][]result.NodeSample{{a.at(1, "a", 0), x.at(1, "", 1)}, {a.at(2, "a", 5), x.at(2, "", 2)}}, []seen{
			{"a", "a:1", replica(1), 5, 0}, {"x:1", "x:1", replica(1), 1, 0},
		}},
		{"no node of this run has an id", [][]result.NodeSample{{x.at(1, "", 0)}, {x.at(2, "", 3)}}, []seen{{"x:1", "x:1", replica(1), 3, 0}}},
		{"the address had another node before", [][]result.NodeSample{
			{x.at(1, "a", 0)}, {x.at(2, "a", 3)},
			{x.at(3, "", 10, restarted)}, {x.at(4, "b", 12, restarted)},
		}, []seen{{"a", "x:1", replica(1), 3, 0}, {"b", "x:1", replica(3), 2, 0}}},
		{"the node was elsewhere before", [][]result.NodeSample{
			{x.at(1, "a", 0)}, {x.at(2, "a", 3)}, {x.at(3, "a", 0, down)},
			{y.at(4, "", 2, restarted), x.at(4, "a", 0, down)},
			{x.at(5, "", 0, down), y.at(5, "a", 7, restarted)},
			{x.at(6, "", 0, down), y.at(6, "a", 8, restarted)},
		}, []seen{{"a", "y:1", []result.RoleSpan{{FromS: 1, Role: "replica"}, {FromS: 3, Role: "unreachable"}, {FromS: 4, Role: "replica"}}, 11, 1}}},
		{"the driver remembers where a node was", [][]result.NodeSample{{a.at(1, "a", 0), x.at(1, "b", 0)}, {a.at(2, "a", 1), x.at(2, "b", 1)}, {a.at(3, "a", 2), x.at(3, "", 0, endpoint)}}, []seen{
			{"a", "a:1", replica(1), 2, 0}, {"b", "x:1", replica(1), 1, 0},
		}},
		{"a name of an endpoint is nobody's", [][]result.NodeSample{{a.at(1, "a", 0), x.at(1, "", 0, endpoint)}}, []seen{
			{"a", "a:1", replica(1), 0, 0}, {"x:1", "x:1", []result.RoleSpan{{FromS: 1, Role: "endpoint"}}, 0, 0},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []seen
			for _, n := range summary(t, runOf("get"), named(t, rounds(tt.rounds...))...).Phases[0].Nodes {
				got = append(got, seen{n.ID, n.Addr, n.Roles, n.Commands["zscore"], n.Restarts})
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}
