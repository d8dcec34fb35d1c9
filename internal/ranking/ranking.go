// Package ranking is the domain: one sorted set, its members and scores, and
// the four operations that services run on it. It is a leaf: it knows no
// Redis client, no clock and no goroutine, and everything in it is a pure
// function of the ranking's parameters and a seed.
//
// The pieces, in the order in which a run uses them:
//
//  1. Spec names the sorted set: key, number of members, distinct scores.
//  2. Ranking makes members and scores out of it: At(position) gives the
//     member and the score at a position of the ascending order, through a
//     bijection that needs no memory (permute.go).
//  3. Chooser draws members, uniformly or by Zipf's law (choose.go, zipf.go).
//  4. Op and Reply are what goes to the target and what comes back (op.go).
package ranking

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
)

// MaxMembers bounds the size of a ranking: a sorted set holds at most 2^32-1
// members on the server.
const MaxMembers = 1<<32 - 1

// MaxScoreSpread bounds the number of distinct scores: scores are doubles,
// which hold every integer up to 2^53.
const MaxScoreSpread = 1 << 53

// Spec is what defines a ranking. Two rankings with equal Specs hold the same
// members with the same scores when they are filled.
type Spec struct {
	Key          string
	Members      int64  // members have the ids 0 … Members-1
	ScoreSpread  int64  // scores fall evenly on the integers 0 … ScoreSpread-1
	MemberFormat string // one %d or %0Nd, such as "player:%09d"
	Seed         uint64
}

// Ranking makes the members and scores of a Spec. It is immutable and safe for
// concurrent use.
type Ranking struct {
	Spec
	format Format
	perm   Permutation
}

// New returns the ranking of a spec, or an error that names every impossible value.
func New(s Spec) (*Ranking, error) {
	var errs []error
	if err := CheckKey(s.Key); err != nil {
		errs = append(errs, err)
	}
	if s.Members < 1 || s.Members > MaxMembers {
		errs = append(errs, fmt.Errorf("members: %d is not in 1 … %d", s.Members, int64(MaxMembers)))
	}
	if s.ScoreSpread < 1 || s.ScoreSpread > MaxScoreSpread {
		errs = append(errs, fmt.Errorf("score_spread: %d is not in 1 … %d", s.ScoreSpread, int64(MaxScoreSpread)))
	}
	f, err := ParseFormat(s.MemberFormat)
	if err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Ranking{Spec: s, format: f, perm: NewPermutation(uint64(s.Members), s.Seed)}, nil
}

// AppendMember appends the name of the member with this id to buf.
func (r *Ranking) AppendMember(buf []byte, id int64) []byte { return r.format.Append(buf, id) }

// MemberID is the inverse of AppendMember; ok is false where the ranking has
// no such member.
func (r *Ranking) MemberID(member string) (id int64, ok bool) {
	id, ok = r.format.Parse(member)
	return id, ok && id < r.Members
}

// InitialScore returns the score that the member with this id is filled with.
func (r *Ranking) InitialScore(id int64) float64 { return r.scoreAt(int64(r.perm.Of(uint64(id)))) }

// At returns the id and the initial score of the member at a position
// (0 … Members-1) of the ascending score order.
func (r *Ranking) At(pos int64) (id int64, score float64) {
	return int64(r.perm.At(uint64(pos))), r.scoreAt(pos)
}

// scoreAt spreads the positions evenly: floor(pos * ScoreSpread / Members).
func (r *Ranking) scoreAt(pos int64) float64 {
	hi, lo := bits.Mul64(uint64(pos), uint64(r.ScoreSpread))
	q, _ := bits.Div64(hi, lo, uint64(r.Members)) // hi < Members since pos < Members
	return float64(q)
}

// CheckKey says whether a companion key in the same slot can be made for key
// (MarkerKey). Keys whose braces Redis Cluster would read otherwise than a
// person are refused.
func CheckKey(key string) error {
	switch tag, ok := hashTag(key); {
	case key == "":
		return errors.New("key: is empty")
	case ok && tag == "":
		return fmt.Errorf("key: %q has an empty hash tag {}", key)
	case !ok && strings.ContainsAny(key, "{}"):
		return fmt.Errorf("key: %q has a lone brace; use {tag} or no braces", key)
	}
	return nil
}

// MarkerKey is the key of the small hash that says how the ranking was filled.
// It hashes to the same slot as key (Redis Cluster specification, "Hash tags").
func MarkerKey(key string) string {
	if _, ok := hashTag(key); ok {
		return key + ":rankbench"
	}
	return "{" + key + "}:rankbench"
}

// hashTag returns what stands between the first { and the next }.
func hashTag(key string) (string, bool) {
	_, rest, ok := strings.Cut(key, "{")
	if !ok {
		return "", false
	}
	tag, _, ok := strings.Cut(rest, "}")
	return tag, ok
}
