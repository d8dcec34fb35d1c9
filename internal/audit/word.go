package audit

import (
	"math/bits"
	"time"
)

// A word is what is known of one member: from the highest bit, 32 bits of
// version and score, 29 bits of the time of the last acknowledgement, 3 flags.
// The version counts acknowledgements in the bits that scores do not need: a
// Get that finds the word as it was knows that no Set was acknowledged
// meanwhile, though one may have brought the same score back within one tick.
// With 10 bits it cannot come round within a tick; that is any spread up to
// 4 million.
const (
	inFlight uint64 = 1 << iota // a Set of the member is on its way
	open                        // the member has an entry in the table
	doubted                     // the member has doubts; never cleared

	tickShift = 3
	maxTick   = 1<<29 - 1 // 62 days; later acknowledgements count as then
)

// tick is the unit of times in a word. Tick 0 means never acknowledged, so
// ticks count from 1.
const tick = 10 * time.Millisecond

type layout struct {
	scores  uint32 // bits of the score
	version uint32 // lowest bit of the version; 0 where there is none
}

func newLayout(spread int64) layout {
	scores := uint32(1)<<bits.Len64(uint64(spread-1)) - 1
	return layout{scores: scores, version: scores + 1}
}

func (y layout) score(w uint64) uint32 { return uint32(w>>32) & y.scores }

func ticks(w uint64) uint32 { return uint32(w) >> tickShift }

// acknowledge returns w with a new score and time and the next version; the
// flags stay.
func (y layout) acknowledge(w uint64, score, at uint32) uint64 {
	high := (uint32(w>>32)&^y.scores + y.version) | score
	return uint64(high)<<32 | uint64(at)<<tickShift | w&(1<<tickShift-1)
}

func tickOf(d time.Duration) uint32 { return uint32(min(max(d/tick, 0)+1, maxTick)) }

// timeOf is the beginning of a tick.
func timeOf(at uint32) time.Duration { return time.Duration(at-1) * tick }
