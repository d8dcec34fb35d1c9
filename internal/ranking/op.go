package ranking

import (
	"fmt"
	"unsafe"
)

// Kind is a kind of operation.
type Kind uint8

// The four operations, as field engineers name them.
const (
	Set         Kind = iota // store one member: ZADD
	Get                     // one member's score and rank: ZSCORE, then ZCOUNT above it
	Find                    // many members' scores and ranks: pipelined ZSCOREs, then ZCOUNTs
	FindByOrder             // a page of the ranking: ZREVRANGE, then ZCOUNT above its first row
)

// NumKinds is the number of kinds; every Kind is below it.
const NumKinds = 4

var kindNames = [NumKinds]string{"set", "get", "find", "find_by_order"}

// String returns the name used in scenarios, on the screen and in results.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Kinds returns all kinds in their order.
func Kinds() []Kind { return []Kind{Set, Get, Find, FindByOrder} }

// ParseKind is the inverse of String.
func ParseKind(s string) (Kind, bool) {
	for i, n := range kindNames {
		if n == s {
			return Kind(i), true
		}
	}
	return 0, false
}

// Writes says whether the operation changes the ranking.
func (k Kind) Writes() bool { return k == Set }

// Pipelines says whether the operation sends its commands in pipelines.
func (k Kind) Pipelines() bool { return k == Find }

// Commands returns how many commands of each name one operation of this kind
// sends when it succeeds; n is Op.Count.
func (k Kind) Commands(n int) map[string]int {
	switch k {
	case Set:
		return map[string]int{"zadd": 1}
	case Get:
		return map[string]int{"zscore": 1, "zcount": 1}
	case Find:
		return map[string]int{"zscore": n, "zcount": n}
	default:
		return map[string]int{"zrevrange": 1, "zcount": 1}
	}
}

// Op is one operation. Its strings are views of a buffer inside it: they hold
// until the Op is filled again.
type Op struct {
	Kind    Kind
	Member  string   // Set, Get
	Score   float64  // Set
	Members []string // Find: Count of them
	Start   int64    // FindByOrder: first row, 0 is the best
	Count   int      // Find: members; FindByOrder: rows

	buf []byte
}

// Reply is what an operation found out.
type Reply struct {
	Score float64 // Get: the member's; FindByOrder: the first row's
	Rank  int64   // likewise; 1 is the best, equal scores share a rank
	Rows  int     // Find: members found; FindByOrder: rows
	Found bool    // everything asked for was there
}

// SetMember makes id the operation's member. It allocates only until the
// buffer is large enough.
func (o *Op) SetMember(r *Ranking, id int64) {
	o.buf = r.AppendMember(o.buf[:0], id)
	o.Member = View(o.buf)
}

// SetMembers makes count ids drawn from the stream the operation's members.
func (o *Op) SetMembers(r *Ranking, count int, c *Chooser, s *Stream) {
	o.buf, o.Members = o.buf[:0], o.Members[:0]
	for range count {
		from := len(o.buf)
		o.buf = r.AppendMember(o.buf, c.Choose(s))
		// Where append moved the buffer, earlier views keep the old one alive.
		o.Members = append(o.Members, View(o.buf[from:]))
	}
}

// View returns b as a string without a copy: an operation's members are read
// by the driver before the operation ends, and b is written again only after.
// A string for each operation would be the only allocation of the hot path.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Ranks fills into with the ranks of the rows of a page: scores are the rows'
// scores in descending order, start is the position of the first row, above is
// the number of members with a score greater than the first row's. A row with
// a new score has exactly start+i members above it; equal scores share a rank.
func Ranks(into []int64, scores []float64, start, above int64) []int64 {
	into = into[:0]
	for i, s := range scores {
		rank := start + int64(i) + 1
		switch {
		case i == 0:
			rank = above + 1
		case s == scores[i-1]:
			rank = into[i-1]
		}
		into = append(into, rank)
	}
	return into
}
