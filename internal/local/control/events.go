package control

import (
	"fmt"
	"slices"
	"time"
)

const (
	// keepEvents is how long ElastiCache keeps events.
	keepEvents = 14 * 24 * time.Hour
	// keepCalls bounds the calls that are remembered.
	keepCalls = 10_000
)

// noPersistence is what AWS says of each new node, word for word.
const noPersistence = "This cache cluster does not support persistence (ex: 'appendonly'). " +
	"Please use a different instance type to enable persistence."

// stamp is a time as it stands in the events' messages: 2020-02-03T05:50:27.155Z.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// log writes an event. The caller holds mu.
func (p *Plane) log(source, id, format string, args ...any) {
	now := time.Now().UTC().Truncate(time.Millisecond)
	p.seq++
	p.events = append(p.events, Event{Seq: p.seq, Date: now, Source: source, SourceID: id, Message: fmt.Sprintf(format, args...)})
	old := func(e Event) bool { return now.Sub(e.Date) <= keepEvents }
	if i := slices.IndexFunc(p.events, old); i > 0 {
		p.events = slices.Delete(p.events, 0, i)
	}
}

// logf is log for those who do not hold mu.
func (p *Plane) logf(source, id, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log(source, id, format, args...)
}

// logCreated writes what AWS writes of a new node. The caller holds mu.
func (p *Plane) logCreated(m *member) {
	p.log(SourceCluster, m.id, "Cache cluster created")
	p.log(SourceCluster, m.id, noPersistence)
	p.log(SourceCluster, m.id, "Added cache node 0001 in availability zone %s", m.zone)
}

// Events lists the events that f lets through, newest first.
func (p *Plane) Events(f EventFilter) []Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []Event
	for _, e := range slices.Backward(p.events) {
		if f.matches(e) {
			found = append(found, e)
		}
	}
	return found
}

func (f EventFilter) matches(e Event) bool {
	return (f.Source == "" || f.Source == e.Source) &&
		(f.SourceID == "" || f.SourceID == e.SourceID) &&
		(f.From.IsZero() || !e.Date.Before(f.From)) &&
		(f.To.IsZero() || !e.Date.After(f.To)) &&
		(f.Before == 0 || e.Seq < f.Before)
}

// Record remembers a call for CloudTrail.
func (p *Plane) Record(c Call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
	if len(p.calls) > keepCalls {
		p.calls = slices.Delete(p.calls, 0, len(p.calls)-keepCalls)
	}
}

// Calls lists the calls, newest first.
func (p *Plane) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := slices.Clone(p.calls)
	slices.Reverse(calls)
	return calls
}
