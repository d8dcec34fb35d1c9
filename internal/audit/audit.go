// Package audit says whether acknowledged writes are still there. A Ledger
// notes every Set of a load, and reads the members back when the service has
// recovered. It knows no Redis and no schedule: it wraps the load's targets,
// and reads through a Reader.
//
//  1. New makes the ledger of a ranking: 8 bytes a member (word.go).
//  2. Wrap puts it before a worker's target. A Set is entered before it is sent
//     and settled when its answer is known (ledger.go): acknowledged, certainly
//     not applied, or unanswered (fate.go). A Get's score is compared with the
//     last acknowledged one (wrap.go).
//  3. Sets of one member that overlap in time leave more than one score
//     possible: a side table holds such members until the question is closed
//     (overlap.go).
//  4. Check freezes the ledger, reads all members ever written from the
//     primary, and tells lost from kept (check.go, judge.go, report.go).
//
// What is exact. A service that answers a Set applies it between sending and
// answer. So of two acknowledged Sets of a member, the one that was sent after
// the other's answer is the later one, and of two that overlapped either may
// be: the final score must be that of an acknowledged Set which no other one
// followed. Any other score means that an acknowledged Set is gone, unless it
// is that of a Set whose fate is unknown: such a one may have been applied at
// any time, even after later ones (a ghost). What is lost is counted by member:
// of several acknowledged Sets of one member only the last one could be seen,
// so it is the last one that is missed. A loss does not show where the score
// that came back happens to be a possible one.
package audit

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rankbench/rankbench/internal/ranking"
)

// maxScores bounds the ranking's score spread: a score has 32 bits of a word.
const maxScores = 1 << 32

// ErrFrozen is returned for a Set after Check has begun; it was not sent.
var ErrFrozen = errors.New("audit: the ledger is frozen: its members are being read back")

// Ledger knows the last acknowledged score of every member. Its targets (Wrap)
// may be used at the same time, each by one worker.
type Ledger struct {
	ranking *ranking.Ranking
	now     func() time.Duration
	layout  layout
	words   []atomic.Uint64 // by member id
	frozen  atomic.Bool
	_       [64]byte // keeps what changes off the cache line that every operation reads

	mu      sync.Mutex // guards what follows
	workers []*worker
	table   map[uint32]*entry   // members with the open flag
	doubts  map[uint32][]uint32 // ascending scores of Sets of unknown fate, by member
	spare   []*entry
}

// New returns an empty ledger: each member has its initial score. now is the
// offset from the start of the run, on the monotonic clock; it is called from
// all workers. The error is that the ranking has too many scores.
func New(r *ranking.Ranking, now func() time.Duration) (*Ledger, error) {
	if r.ScoreSpread > maxScores {
		return nil, fmt.Errorf("audit %q: score_spread %d is above %d: the ledger keeps 32 bits of a score", r.Key, r.ScoreSpread, int64(maxScores))
	}
	return &Ledger{
		ranking: r, now: now, layout: newLayout(r.ScoreSpread), words: make([]atomic.Uint64, r.Members),
		table: map[uint32]*entry{}, doubts: map[uint32][]uint32{},
	}, nil
}
