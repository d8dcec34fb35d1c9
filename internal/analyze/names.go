package analyze

import "github.com/rankbench/rankbench/internal/result"

// endpointRole is of samples that are no node's: of an endpoint's name, or of an
// address, that the driver knows and the observer does not.
const endpointRole = "endpoint"

// Names knows whose each address was over a run: a node that is new has its
// address for an id until ElastiCache has said which one it is. Learn is given
// all lines of intervals.ndjson first, and then Apply each of them again.
type Names struct {
	spans map[string][]owner // by address, in order of time
}

// owner is whose an address was from an offset on, "" as long as it was not known.
type owner struct {
	from float64
	id   string
}

// NewNames returns a Names that knows nothing yet.
func NewNames() *Names { return &Names{spans: map[string][]owner{}} }

// Learn takes in a line.
func (n *Names) Learn(iv result.Interval) error {
	for _, s := range iv.Nodes {
		if s.Role == endpointRole {
			continue
		}
		id := s.ID
		if id == s.Addr {
			id = ""
		}
		if spans := n.spans[s.Addr]; len(spans) == 0 || spans[len(spans)-1].id != id {
			n.spans[s.Addr] = append(spans, owner{s.AtS, id})
		}
	}
	return nil
}

// Apply gives samples that have no id of their own the one that their address got
// next. It takes out what is no node any more: where a node was that is elsewhere
// now and does not answer there, and what the driver remembers of a node's address.
func (n *Names) Apply(iv *result.Interval) {
	var kept []result.NodeSample
	for _, s := range iv.Nodes {
		if id := n.of(s); id != "" {
			s.ID = id
			kept = append(kept, s)
		}
	}
	iv.Nodes = kept
}

// of is the id of a sample's node, "" for what is to be taken out.
func (n *Names) of(s result.NodeSample) string {
	if s.ID != s.Addr {
		return s.ID
	}
	before, next := n.around(s)
	switch {
	case s.Role == endpointRole && before+next != "":
		return ""
	case s.Role == endpointRole:
		return s.ID
	case before != "" && !s.Up:
		return ""
	case next != "":
		return next
	}
	return s.ID
}

// around is whose the address of a sample was before, and whose after it; "" for nobody's.
func (n *Names) around(s result.NodeSample) (before, next string) {
	for _, o := range n.spans[s.Addr] {
		switch {
		case o.id == "":
		case o.from <= s.AtS:
			before = o.id
		case next == "":
			next = o.id
		}
	}
	return before, next
}
