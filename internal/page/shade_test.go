package page

import (
	"slices"
	"testing"

	"github.com/rankbench/rankbench/internal/result"
)

func TestOutagesAreSplitWhereTheServiceWasOut(t *testing.T) {
	f := func(v float64) *float64 { return &v }
	writes := []result.ServiceOutage{{What: "write", FromS: 9, ToS: 14}, {What: "read", FromS: 0, ToS: 100}}
	for _, row := range []struct {
		name    string
		outage  result.Outage
		service []result.ServiceOutage
		want    []Shade
	}{
		{"service, then client", result.Outage{Op: "set", FromS: 10, ToS: 16, ServiceS: f(4), ClientS: f(2)}, writes,
			[]Shade{{10, 14, "service"}, {14, 16, "client"}}},
		{"the client notices late", result.Outage{Op: "set", FromS: 8, ToS: 14, ServiceS: f(5), ClientS: f(1)}, writes,
			[]Shade{{8, 9, "client"}, {9, 14, "service"}}},
		{"silences too short to be outages", result.Outage{Op: "set", FromS: 20, ToS: 21, ServiceS: f(0.3), ClientS: f(0.7)}, writes,
			[]Shade{{20, 20.3, "service"}, {20.3, 21, "client"}}},
		{"rankbench itself stood still", result.Outage{Op: "set", FromS: 20, ToS: 23, ServiceS: f(0), ClientS: f(1), PausedS: 2}, nil,
			[]Shade{{20, 21, "client"}, {21, 23, "paused"}}},
		{"no probe", result.Outage{Op: "set", FromS: 1, ToS: 2}, nil, []Shade{{1, 2, "outage"}}},
		{"reads have their own", result.Outage{Op: "find", FromS: 1, ToS: 2, ServiceS: f(1), ClientS: f(0)}, writes, []Shade{{1, 2, "service"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := split(row.outage, row.service); !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func TestShadesOfSeveralOperationsDoNotOverlap(t *testing.T) {
	got := union([]Shade{{1, 3, "service"}, {3, 6, "client"}, {2, 4, "service"}, {8, 9, "client"}})
	want := []Shade{{1, 4, "service"}, {4, 6, "client"}, {8, 9, "client"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
