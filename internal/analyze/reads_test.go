package analyze

import (
	"reflect"
	"slices"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

// told is the summary of rounds with these events, and what it says of reads.
func told(t *testing.T, lines []result.Interval, events ...result.Event) (s result.Summary, messages []string) {
	t.Helper()
	b := NewBuilder(runOf("get"))
	for _, iv := range lines {
		if err := b.Add(iv); err != nil {
			t.Fatal(err)
		}
	}
	s = b.Summary(events)
	for _, e := range s.Events {
		if e.Source == "load" {
			messages = append(messages, e.Subject+": "+e.Message)
		}
	}
	return s, messages
}

func TestNodeThatJoinedServesReadsFromItsFirstOnes(t *testing.T) {
	a, b := place("a:1"), place("b:1")
	s, got := told(t, rounds(
		[]result.NodeSample{a.at(1, "a", 1000)}, []result.NodeSample{a.at(2, "a", 1100)},
		[]result.NodeSample{a.at(3, "a", 1200), b.at(3.1, "b", 0)},
		[]result.NodeSample{a.at(4, "a", 1250), b.at(4.1, "b", 30)}, // of these 80, it is not known which came first
		[]result.NodeSample{a.at(5, "a", 1310), b.at(5.1, "b", 60)},
		[]result.NodeSample{a.at(6, "a", 1370), b.at(6.1, "b", 90)},
	), result.Event{AtS: 3.1, Source: "node", Subject: "b", Message: "joined", Kind: result.NodeJoined}, result.Event{AtS: 6, Source: "node", Subject: "b", Message: "late"})
	if want := []string{"b: serves reads, 33 % of all from then on (the first within the 1.0 s before)"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	if e := s.Events[1]; e.AtS != 4.1 || e.Subject != "b" {
		t.Errorf("events %+v", s.Events)
	}
	n := s.Nodes[1]
	if n.FirstReadS == nil || *n.FirstReadS != [2]float64{3.1, 4.1} || n.ReadSharePct == nil || !near(*n.ReadSharePct, 100.0*60/180) || n.LastReadS != nil {
		t.Errorf("node %+v", n)
	}
	if n := s.Nodes[0]; n.FirstReadS != nil || n.ReadSharePct != nil {
		t.Errorf("it was there from the start: %+v", n)
	}
	if p := s.Phases[0].Nodes[1]; p.FirstReadS != nil {
		t.Errorf("of a phase: %+v", p)
	}
}

func TestFirstAndLastReadsOfNodes(t *testing.T) {
	a, b := place("a:1"), place("b:1")
	left := result.Event{AtS: 4.5, Subject: "b", Kind: result.NodeLeft}
	for _, tt := range []struct {
		name   string
		rounds [][]result.NodeSample
		events []result.Event
		want   []string
	}{
		{"it had reads when it was first seen", [][]result.NodeSample{{a.at(1, "a", 5)}, {a.at(2, "a", 6)}, {a.at(4, "a", 7), b.at(4, "b", 9)}}, nil, []string{"b: serves reads (the first within the 2.0 s before)"}},
		{"it never had any", [][]result.NodeSample{{a.at(1, "a", 5)}, {a.at(2, "a", 6), b.at(2, "b", 0)}, {a.at(3, "a", 7), b.at(3, "b", 0)}}, nil, nil},
		{"down while it joined", [][]result.NodeSample{{a.at(1, "a", 5)}, {a.at(2, "a", 6), b.at(2, "b", 0, down)}, {a.at(3, "a", 7), b.at(3, "b", 1)}}, nil, []string{"b: serves reads (the first within the 2.0 s before)"}},
		{"there from the start, and down", [][]result.NodeSample{{a.at(1, "a", 5), b.at(1, "b", 0, down)}, {a.at(2, "a", 6), b.at(2, "b", 7)}, {a.at(3, "a", 7), b.at(3, "b", 9)}}, nil, nil},
		{
			"left when reads had gone",
			[][]result.NodeSample{{b.at(1, "b", 5)}, {b.at(2, "b", 9)}, {b.at(3, "b", 9)}, {b.at(4, "b", 0, down)}},
			[]result.Event{left}, []string{"b: serves no reads any more (the last within the 1.0 s before)"},
		},
		{
			"left and died with reads",
			[][]result.NodeSample{{b.at(1, "b", 5)}, {b.at(2, "b", 9)}, {b.at(3.5, "b", 0, down)}, {b.at(4, "b", 0, down)}},
			[]result.Event{left}, []string{"b: serves no reads any more (the last within the 2.5 s before)"},
		},
		{"died, and did not leave", [][]result.NodeSample{{b.at(1, "b", 5)}, {b.at(2, "b", 9)}, {b.at(3.5, "b", 0, down)}}, nil, nil},
		{"left and came back", [][]result.NodeSample{{b.at(1, "b", 5)}, {b.at(2, "b", 9)}, {b.at(3, "b", 9)}}, []result.Event{left, {AtS: 6, Subject: "b", Kind: result.NodeJoined}}, nil},
		{"left after the load", [][]result.NodeSample{{b.at(1, "b", 5)}, {b.at(2, "b", 9)}, {b.at(3, "b", 9)}}, []result.Event{{AtS: 10.5, Subject: "b", Kind: result.NodeLeft}}, nil},
		{"restarted", [][]result.NodeSample{{b.at(1, "b", 5)}, {b.at(2, "b", 9)}, {b.at(3.5, "b", 4, restarted)}, {b.at(4, "b", 4, restarted)}}, []result.Event{left}, []string{"b: serves no reads any more (the last within the 1.5 s before)"}},
		{"read from before the run only", [][]result.NodeSample{{b.at(1, "b", 9)}, {b.at(2, "b", 9)}}, []result.Event{left}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := told(t, rounds(tt.rounds...), tt.events...); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}
