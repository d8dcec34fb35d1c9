package analyze

import (
	"fmt"

	"github.com/rankbench/rankbench/internal/result"
)

// readers watches which nodes the reads of the load go to, by the servers' own
// counts. Of what happened between two samples it is not known when.
type readers struct {
	nodes map[string]*reader
	total uint64  // reads of all nodes
	at    float64 // of the last round
	begun bool
}

type reader struct {
	joined  bool    // it was not there in the first round
	at      float64 // when it last answered; until it has, when it was not there yet
	addr    string
	runID   string
	counter uint64 // the server's, at offset at
	served  uint64
	reading bool        // it was read from since the sample before
	first   *[2]float64 // between which samples the first read was
	last    *[2]float64
	from    *shares     // after the round that told of the first read
	to      shares      // after the one that told of the last
	former  *[2]float64 // last, of the server that had its id before it
}

// shares are the reads up to a moment: a node's own, and those of all.
type shares struct{ own, all uint64 }

// add adds the samples of one round.
func (r *readers) add(samples []result.NodeSample) {
	if r.nodes == nil {
		r.nodes = map[string]*reader{}
	}
	at, read := r.at, []*reader(nil)
	for _, s := range samples {
		n := r.nodes[s.ID]
		if n == nil {
			n = &reader{joined: r.begun, at: r.at}
			r.nodes[s.ID] = n
		}
		if s.Up && n.runID != "" && s.RunID != n.runID && s.Addr != n.addr { // made anew elsewhere
			*n = reader{joined: true, at: r.at, former: n.last}
		}
		if more := n.add(s); more > 0 {
			r.total += more
			read = append(read, n)
		}
		at = max(at, s.AtS)
	}
	for _, n := range read {
		n.mark(r.total)
	}
	r.at, r.begun = at, r.begun || len(samples) > 0
}

// add returns how many reads a sample tells of that no sample before it did. The
// count of a server that joined began with it.
func (n *reader) add(s result.NodeSample) uint64 {
	switch {
	case !s.Up && n.reading: // up to where, it did not say any more
		n.last[1], n.reading = s.AtS, false
		return 0
	case !s.Up || s.AtS < n.at:
		return 0
	}
	counter := reads(s.Commands)
	switch {
	case n.runID == "" && !n.joined:
		n.counter = counter
	case n.runID != s.RunID:
		n.counter = 0
	}
	more := counter - min(counter, n.counter)
	if n.reading = more > 0; n.reading {
		n.last = &[2]float64{n.at, s.AtS}
		if n.first == nil {
			n.first = &[2]float64{n.at, s.AtS}
		}
	}
	n.served += more
	n.at, n.addr, n.runID, n.counter = s.AtS, s.Addr, s.RunID, counter
	return more
}

func (n *reader) mark(total uint64) {
	n.to = shares{n.served, total}
	if n.from == nil {
		n.from = &shares{n.served, total}
	}
}

// share is the node's part of all reads after its first, percent; nil where there
// is no round after that.
func (n *reader) share() *float64 {
	all := n.to.all - n.from.all
	if all == 0 {
		return nil
	}
	pct := 100 * float64(n.to.own-n.from.own) / float64(all)
	return &pct
}

// apply says when nodes that joined served their first reads, and nodes that left
// before the load's end, at an offset, their last.
func (r *readers) apply(s *result.Summary, end float64) {
	gone := leftBy(s.Events, end)
	var events []result.Event
	for i := range s.Nodes {
		n := &s.Nodes[i]
		x := r.nodes[n.ID]
		if x != nil && x.former != nil {
			events = append(events, readEvent(n.ID, *x.former, "serves no reads any more", "last"))
		}
		if x == nil || x.first == nil {
			continue
		}
		if x.joined {
			n.FirstReadS, n.ReadSharePct = x.first, x.share()
			events = append(events, readEvent(n.ID, *x.first, "serves reads"+ofAll(n.ReadSharePct), "first"))
		}
		if gone[n.ID] && x.last[1] < end {
			n.LastReadS = x.last
			events = append(events, readEvent(n.ID, *x.last, "serves no reads any more", "last"))
		}
	}
	s.Events = inOrder(append(s.Events, events...))
}

func ofAll(pct *float64) string {
	if pct == nil {
		return ""
	}
	return fmt.Sprintf(", %.0f %% of all from then on", *pct)
}

// readEvent has the time of the second of the samples that a node's first or last
// read was between.
func readEvent(id string, between [2]float64, what, which string) result.Event {
	message := fmt.Sprintf("%s (the %s within the %.1f s before)", what, which, between[1]-between[0])
	return result.Event{AtS: between[1], Source: "load", Subject: id, Message: message}
}

// leftBy are the nodes that left the topology by an offset, and did not come back.
func leftBy(events []result.Event, end float64) map[string]bool {
	gone := map[string]bool{}
	for _, e := range events {
		switch {
		case e.AtS > end:
		case e.Kind == result.NodeLeft:
			gone[e.Subject] = true
		case e.Kind == result.NodeJoined:
			delete(gone, e.Subject)
		}
	}
	return gone
}
