package observe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	ids   map[string]string // by address: the id that it last had, or itself as long as it has had none
	roles bool              // whether role changes are told
}

// history is what is remembered of one node. A node is taken to have been up
// before the first round: one that is down then is told as unreachable.
type history struct {
	up, listed bool
	downAt     float64           // since when it is down, seconds
	linkDownAt float64           // since when its link is down, seconds
	last       result.NodeSample // as it last answered; RunID "" if it never has
}

func newChanges(roles bool) *changes {
	return &changes{nodes: map[string]*history{}, ids: map[string]string{}, roles: roles}
}

// since returns the differences to the round before, in the order of their time.
func (c *changes) since(seen []sighting) []result.Event {
	var events []result.Event
	for _, s := range seen {
		events = append(events, c.name(s)...)
	}
	for _, s := range seen {
		events = append(events, c.node(s)...)
	}
	events = append(events, c.gone(seen)...)
	c.begun = true
	slices.SortStableFunc(events, func(a, b result.Event) int { return cmp.Compare(a.AtS, b.AtS) })
	return events
}

// name takes in whose an address is, and tells it of a node that was known by its
// address only: that is no other node. Of one that was elsewhere before, what is
// remembered is what happened there.
func (c *changes) name(s sighting) []result.Event {
	if s.ID == s.Addr {
		c.ids[s.Addr] = cmp.Or(c.ids[s.Addr], s.ID)
		return nil
	}
	c.ids[s.Addr] = s.ID
	h := c.nodes[s.Addr]
	if h == nil {
		return nil
	}
	delete(c.nodes, s.Addr)
	if elsewhere := c.nodes[s.ID]; elsewhere != nil {
		elsewhere.listed = h.listed
	} else {
		c.nodes[s.ID] = h
	}
	return []result.Event{{AtS: s.AtS, Source: source, Subject: s.Addr, Message: "is " + s.ID}}
}

// node tells what has become of one node. An address that has lost its id is where
// a node was that is elsewhere now: nothing is told of it.
func (c *changes) node(s sighting) []result.Event {
	if c.ids[s.Addr] != s.ID {
		return nil
	}
	h := c.nodes[s.ID]
	if h == nil {
		h = &history{up: true, listed: !c.begun && s.listed}
		c.nodes[s.ID] = h
	}
	var messages []string
	messages = append(messages, h.membership(s, c.ids)...)
	messages = append(messages, h.reachability(s)...)
	if s.Up {
		messages = append(messages, h.state(s.NodeSample, c.ids, c.roles)...)
		h.last = s.NodeSample
	}
	return eventsOf(s.NodeSample, messages)
}

func eventsOf(s result.NodeSample, messages []string) []result.Event {
	var events []result.Event
	for _, m := range messages {
		events = append(events, result.Event{AtS: s.AtS, Source: source, Subject: s.ID, Message: m, Kind: kindOf(m)})
	}
	return events
}

// kindOf is what a message marks, "" for most.
func kindOf(message string) string {
	switch {
	case strings.HasPrefix(message, isPrimary):
		return result.NewPrimary
	case strings.HasPrefix(message, joined):
		return result.NodeJoined
	case message == left:
		return result.NodeLeft
	}
	return ""
}

// Beginnings of messages.
const (
	isPrimary = "is primary"
	joined    = "joined the topology"
	left      = "left the topology"
)

func (h *history) membership(s sighting, ids map[string]string) []string {
	was := h.listed
	h.listed = s.listed
	switch {
	case was == s.listed:
		return nil
	case !s.listed:
		return []string{left}
	case s.Up:
		return []string{joined + " as " + roleText(s.NodeSample, ids)}
	}
	return []string{joined}
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
		messages = append(messages, becameText(s, h.last.PrimaryAddr, ids))
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

// becameText says what a node is now, and of a primary who was it before: the one
// at address former, which the node replicated from, if it is known.
func becameText(s result.NodeSample, former string, ids map[string]string) string {
	text := "is " + roleText(s, ids)
	if s.Role == "primary" && former != "" {
		text += " (was " + cmp.Or(ids[former], former) + ")"
	}
	return text
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
			events = append(events, result.Event{AtS: at, Source: source, Subject: id, Message: left, Kind: result.NodeLeft})
		}
		delete(c.nodes, id)
	}
	return events
}

func seconds(s float64) string { return fmt.Sprintf("%.2fs", s) }
