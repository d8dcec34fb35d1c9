package observe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/rankbench/rankbench/internal/result"
)

// The sources of this package's events.
const (
	source    = "node"
	sourceDNS = "dns" // of names that lead elsewhere
)

// changes turns rounds into events. It remembers each node as it last answered:
// a primary that was down and is back as a replica changed its role.
type changes struct {
	begun bool // the first round tells where things stand, not a change
	nodes map[string]*history
	roles bool // whether role changes are told
}

// history is what is remembered of one node. A node is taken to have been up
// before the first round: one that is down then is told as unreachable.
type history struct {
	up, listed bool
	downAt     float64           // since when it is down, seconds
	linkDownAt float64           // since when its link is down, seconds
	last       result.NodeSample // as it last answered; RunID "" if it never has
}

func newChanges(roles bool) *changes { return &changes{nodes: map[string]*history{}, roles: roles} }

// since returns the differences to the round before, in the order of their time.
func (c *changes) since(seen []sighting) []result.Event {
	ids := map[string]string{}
	for _, s := range seen {
		ids[s.Addr] = s.ID
	}
	var events []result.Event
	for _, s := range seen {
		events = append(events, c.node(s, ids)...)
	}
	events = append(events, c.gone(seen)...)
	c.begun = true
	slices.SortStableFunc(events, func(a, b result.Event) int { return cmp.Compare(a.AtS, b.AtS) })
	return events
}

func (c *changes) node(s sighting, ids map[string]string) []result.Event {
	h := c.nodes[s.ID]
	if h == nil {
		h = &history{up: true, listed: !c.begun && s.listed}
		c.nodes[s.ID] = h
	}
	var messages []string
	messages = append(messages, h.membership(s, ids)...)
	messages = append(messages, h.reachability(s)...)
	if s.Up {
		messages = append(messages, h.state(s.NodeSample, ids, c.roles)...)
		h.last = s.NodeSample
	}
	return eventsOf(s.NodeSample, messages)
}

func eventsOf(s result.NodeSample, messages []string) []result.Event {
	var events []result.Event
	for _, m := range messages {
		e := result.Event{AtS: s.AtS, Source: source, Subject: s.ID, Message: m}
		if m == becamePrimary {
			e.Kind = result.NewPrimary
		}
		events = append(events, e)
	}
	return events
}

func (h *history) membership(s sighting, ids map[string]string) []string {
	was := h.listed
	h.listed = s.listed
	switch {
	case was == s.listed:
		return nil
	case !s.listed:
		return []string{"left the topology"}
	case s.Up:
		return []string{"joined the topology as " + roleText(s.NodeSample, ids)}
	}
	return []string{"joined the topology"}
}

// reachability measures a downtime from the first round in which the node was
// asked and did not answer to the first in which it did.
func (h *history) reachability(s sighting) []string {
	was := h.up
	h.up = s.Up
	switch {
	case was && !s.Up:
		h.downAt = s.AtS
		return []string{"unreachable: " + s.Error}
	case !was && s.Up:
		return []string{"reachable again after " + seconds(s.AtS-h.downAt)}
	}
	return nil
}

// state compares a node that answers with how it last answered.
func (h *history) state(s result.NodeSample, ids map[string]string, roles bool) []string {
	if h.last.RunID == "" {
		return nil
	}
	var messages []string
	if s.RunID != h.last.RunID {
		messages = append(messages, "restarted")
	}
	if s.Error != h.last.Error {
		messages = append(messages, loadingText(s))
	}
	if roles && (s.Role != h.last.Role || s.PrimaryAddr != h.last.PrimaryAddr) {
		messages = append(messages, becameText(s, ids))
	}
	return append(messages, h.link(s)...)
}

func loadingText(s result.NodeSample) string {
	if s.Error == "" {
		return "has loaded its data set"
	}
	return s.Error + " its data set"
}

// link tells of a replica's link to its primary. A replica begins with its link
// down; that is no event, and its first sync is.
func (h *history) link(s result.NodeSample) []string {
	switch {
	case s.Link == h.last.Link || s.Link == "":
		return nil
	case s.Link != "up":
		h.linkDownAt = s.AtS
		if h.last.Link == "" {
			return nil
		}
		return []string{"replication link down"}
	case h.last.Link == "":
		return nil
	}
	return []string{"replication link up after " + seconds(s.AtS-h.linkDownAt)}
}

// becamePrimary is becameText of a primary.
const becamePrimary = "became primary"

func becameText(s result.NodeSample, ids map[string]string) string {
	return "became " + roleText(s, ids)
}

func roleText(s result.NodeSample, ids map[string]string) string {
	if s.PrimaryAddr == "" {
		return s.Role
	}
	return s.Role + " of " + cmp.Or(ids[s.PrimaryAddr], s.PrimaryAddr)
}

// gone tells of the nodes that are no longer in a round at all.
func (c *changes) gone(seen []sighting) []result.Event {
	var at float64
	present := map[string]bool{}
	for _, s := range seen {
		at, present[s.ID] = max(at, s.AtS), true
	}
	var events []result.Event
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		if present[id] {
			continue
		}
		if c.nodes[id].listed {
			events = append(events, result.Event{AtS: at, Source: source, Subject: id, Message: "left the topology"})
		}
		delete(c.nodes, id)
	}
	return events
}

func seconds(s float64) string { return fmt.Sprintf("%.2fs", s) }
