package load

import (
	"testing"
	"time"
)

func TestLatencyIsChargedFromDueOnlyWhereNoWorkerWasFree(t *testing.T) {
	for _, tt := range []struct {
		name             string
		o                Outcome
		latency, service time.Duration
		slip             time.Duration
		slipped          bool
	}{
		{"worker free, timer exact", Outcome{Due: 10, Taken: 5, Sent: 10, Done: 14}, 4, 4, 0, true},
		{"worker free, timer late", Outcome{Due: 10, Taken: 5, Sent: 11, Done: 14}, 3, 3, 1, true},
		{"worker free just when due", Outcome{Due: 10, Taken: 10, Sent: 12, Done: 14}, 2, 2, 2, true},
		{"no worker free when due", Outcome{Due: 10, Taken: 11, Sent: 12, Done: 14}, 4, 2, 0, false},
		{"never sent", Outcome{Due: 10, Taken: 10, Sent: 14, Done: 14, Err: Unsent}, 0, 0, 0, false},
		{"closed loop", Outcome{Due: 10, Taken: 10, Sent: 10, Done: 14}, 4, 4, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.o.Latency(); got != tt.latency {
				t.Errorf("latency is %d, want %d", got, tt.latency)
			}
			if got := tt.o.Service(); got != tt.service {
				t.Errorf("service is %d, want %d", got, tt.service)
			}
			slip, ok := tt.o.Slip()
			if ok != tt.slipped || ok && slip != tt.slip {
				t.Errorf("slip is %d, %v, want %d, %v", slip, ok, tt.slip, tt.slipped)
			}
		})
	}
}

func TestEveryClassHasANameOfItsOwn(t *testing.T) {
	seen := map[string]Class{}
	for c := OK; c < NumClasses; c++ {
		name := c.String()
		if other, ok := seen[name]; ok || name == "" {
			t.Errorf("classes %d and %d are both %q", other, c, name)
		}
		seen[name] = c
	}
	if seen["other"] != NumClasses-1 || seen["ok"] != 0 {
		t.Errorf("ok is %d and other is %d: the list of names does not fit the constants", seen["ok"], seen["other"])
	}
	if got := Class(NumClasses).String(); got != "class(16)" {
		t.Errorf("the class after the last is %q", got)
	}
}
