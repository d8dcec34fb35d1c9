// Package measure records outcomes and cuts them into intervals. It knows
// neither Redis nor files.
//
//  1. Every worker of a phase records into a shard of its own, so that workers
//     share no lock; a shard's mutex is only ever contended by the cut, once a
//     second. (One shard a processor would be smaller, but Go does not tell a
//     goroutine its processor, so that workers would have to share them.)
//  2. A shard counts successes and failures in 10 ms buckets and keeps HDR
//     histograms of latency and service time of the successes, two significant
//     digits, 1 µs to 24 h.
//  3. Cut swaps every shard's figures for empty ones and merges them to one
//     Cell for each operation. Every total is a sum of cells, so that a series
//     and a total cannot disagree.
//
// A failed operation never enters a histogram of successes.
package measure

import (
	"fmt"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/ranking"
	"github.com/rankbench/rankbench/internal/result"
)

// maxTrackable is the longest latency a histogram tells apart; longer ones
// count as this, and the exact maximum is kept beside the histogram.
const maxTrackable = 24 * time.Hour

func newHistogram() *hdr.Histogram { return hdr.New(1, maxTrackable.Microseconds(), 2) }

// Recorder records the outcomes of one phase.
type Recorder struct {
	measured time.Duration // operations due from here on are measured, earlier ones are warm-up
	mu       sync.Mutex
	shards   []*shard
}

// NewRecorder returns the recorder of a phase whose measured part begins at an offset of the run.
func NewRecorder(measured time.Duration) *Recorder { return &Recorder{measured: measured} }

// Worker returns the recorder of one worker, who runs one kind of operation at
// offset now; open says whether by a schedule.
func (r *Recorder) Worker(k ranking.Kind, open bool, now time.Duration) load.Recorder {
	s := &shard{kind: k, open: open, measured: r.measured}
	s.base = baseBucket(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shards = append(r.shards, s)
	return s
}

// Cut returns what was recorded since the last cut, one cell for each
// operation and warm-up, and the histogram of the schedule's slip (nil where
// there was none). Offset now is the time of the cut.
func (r *Recorder) Cut(now time.Duration) (cells []result.Cell, slip *hdr.Histogram, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sums := map[cellKey]*figures{}
	for _, s := range r.shards {
		for i, f := range s.swap(baseBucket(now)) {
			if f == nil || f.empty() {
				continue
			}
			key := cellKey{s.kind, i == warmup}
			if sums[key] == nil {
				sums[key] = newFigures(s.open, f.base)
			}
			sums[key].add(f)
			slip = mergeHistogram(slip, f.slip)
			f.reset()
		}
	}
	cells, err = encodeCells(sums)
	return cells, slip, err
}

type cellKey struct {
	kind   ranking.Kind
	warmup bool
}

func encodeCells(sums map[cellKey]*figures) ([]result.Cell, error) {
	var cells []result.Cell
	for _, k := range ranking.Kinds() {
		for _, warm := range []bool{true, false} {
			f := sums[cellKey{k, warm}]
			if f == nil {
				continue
			}
			c, err := f.cell(k, warm)
			if err != nil {
				return nil, fmt.Errorf("encode histogram of %s: %w", k, err)
			}
			cells = append(cells, c)
		}
	}
	return cells, nil
}

// slackBuckets is how far before the last cut an outcome may still be placed
// exactly: a goroutine may be descheduled between knowing an answer and
// recording it.
const slackBuckets = 100

func bucket(at time.Duration) uint64 { return uint64(max(at, 0) / result.BucketWidth) }

func baseBucket(now time.Duration) uint64 {
	if b := bucket(now); b > slackBuckets {
		return b - slackBuckets
	}
	return 0
}
