package audit_test

import (
	"context"
	"slices"
	"time"

	"github.com/rankbench/rankbench/internal/audit"
	"github.com/rankbench/rankbench/internal/ranking"
)

// history is the slow, exact reference: everything that was sent, with the
// numbers of the events at which it began and ended, so that no two are equal.
type history struct {
	ranking *ranking.Ranking
	event   int
	writes  []*write
	reads   []*read
	missing uint64 // reads that said so
	fresh   bool   // nobody but the run has changed members
}

type write struct {
	member         string
	score          float64
	start, end     int
	acked, unknown bool
	at             time.Duration // of the end
}

type read struct {
	member     string
	got        float64
	start, end int
}

func (h *history) tick() int {
	h.event++
	return h.event
}

// lastAcked are the Sets of the member, acknowledged before an event, which no
// acknowledged one followed by then; the latest last.
func (h *history) lastAcked(member string, before int) []*write {
	var acked, last []*write
	for _, w := range h.writes {
		if w.member == member && w.acked && w.end < before {
			acked = append(acked, w)
		}
	}
	for _, w := range acked {
		if !slices.ContainsFunc(acked, func(v *write) bool { return v.start > w.end }) {
			last = append(last, w)
		}
	}
	slices.SortFunc(last, func(a, b *write) int { return a.end - b.end })
	return last
}

// inDoubt are the scores whose Sets ended without a certain fate before an event.
func (h *history) inDoubt(member string, before int) []float64 {
	var out []float64
	for _, w := range h.writes {
		if w.member == member && w.unknown && w.end < before {
			out = append(out, w.score)
		}
	}
	return out
}

func scoresOf(writes []*write) []float64 {
	var out []float64
	for _, w := range writes {
		out = append(out, w.score)
	}
	return out
}

func (h *history) stale(r *read) bool {
	for _, w := range h.writes {
		inFlight := w.start < r.start && r.start < w.end || w.start < r.end && r.end < w.end
		acked := w.acked && r.start < w.end && w.end < r.end
		if w.member == r.member && (inFlight || acked) {
			return false
		}
	}
	last := h.lastAcked(r.member, r.start)
	return len(last) > 0 && !slices.Contains(scoresOf(last), r.got) && !slices.Contains(h.inDoubt(r.member, r.end), r.got)
}

// report is what Check must find if the store has these scores at the end.
func (h *history) report(store map[string]float64) audit.Report {
	r := audit.Report{MissingReads: h.missing}
	for _, w := range h.writes {
		switch {
		case w.acked:
			r.Acknowledged++
		case w.unknown:
			r.Indeterminate++
		}
	}
	for _, read := range h.reads {
		if h.stale(read) {
			r.StaleReads++
		}
	}
	for id := range h.ranking.Members {
		h.judge(&r, id, store)
	}
	if r.Lost > 0 {
		r.LostWindowS = (seconds(r.LostToS) - seconds(r.LostFromS)).Seconds()
	}
	r.Examples = r.Examples[:min(len(r.Examples), 20)]
	return r
}

// seconds avoids the rounding of a difference of floats.
func seconds(s *float64) time.Duration {
	return time.Duration(*s*1e9 + 0.5).Round(10 * time.Millisecond)
}

func (h *history) judge(r *audit.Report, id int64, store map[string]float64) {
	member := string(h.ranking.AppendMember(nil, id))
	last, doubts := h.lastAcked(member, h.event+1), h.inDoubt(member, h.event+1)
	if len(last) == 0 && len(doubts) == 0 {
		return
	}
	r.Checked++
	if len(last) > 1 {
		r.Overlapped++
	}
	right := scoresOf(last)
	if len(last) == 0 {
		right = []float64{h.ranking.InitialScore(id)}
	}
	got, found := store[member]
	if !found {
		r.Missing++
	}
	switch {
	case found && slices.Contains(right, got):
	case found && slices.Contains(doubts, got):
		r.Ghosts++
	case len(last) == 0 && found:
		if h.fresh {
			r.Changed++
		}
	case len(last) > 0:
		lose(r, member, last[len(last)-1], got, found)
	}
}

func lose(r *audit.Report, member string, w *write, got float64, found bool) {
	at := w.at.Truncate(10 * time.Millisecond).Seconds()
	if r.Lost++; r.Lost == 1 {
		from, to := at, at
		r.LostFromS, r.LostToS = &from, &to
	}
	*r.LostFromS, *r.LostToS = min(*r.LostFromS, at), max(*r.LostToS, at)
	e := audit.Loss{Member: member, Want: w.score, AtS: at}
	if found {
		e.Got = &got
	}
	r.Examples = append(r.Examples, e)
}

// scores reads from a map, as a Reader.
type scores map[string]float64

func (s scores) Scores(_ context.Context, members []string) (out []float64, ok []bool, err error) {
	for _, m := range members {
		v, there := s[m]
		out, ok = append(out, v), append(ok, there)
	}
	return out, ok, nil
}
