package run

import (
	"context"
	"io"
	"strings"

	"github.com/rankbench/rankbench/internal/live"
	"github.com/rankbench/rankbench/internal/progress"
	"github.com/rankbench/rankbench/internal/result"
)

// planned are the steps that will be done, for who looks on; none of a load.
func (s *session) planned() (steps []progress.Step) {
	if s.drilling == nil {
		return nil
	}
	for _, st := range s.o.Scenario.Drill.Steps {
		at := st.At
		if st.After != "" {
			at = st.Delay
		}
		steps = append(steps, progress.Step{After: st.After != "", AtS: at.Seconds(), What: describeStep(st)})
	}
	return steps
}

// tellStatus hands on how far the run is, by the goroutine that prints the lines, so
// that it does not mix with them. A screen that does not take those (^S) is not told:
// its lines may wait, but not for that.
func (s *session) tellStatus(iv result.Interval) {
	s.mu.Lock()
	s.follower.Interval(iv)
	status := s.follower.Status()
	s.mu.Unlock()
	if s.o.Status != nil && iv.End == nil && len(s.lines) < waitingStatus {
		s.lines <- func(io.Writer) error { s.o.Status(&status); return nil }
	}
}

// waitingStatus is how many lines may wait at a moment without being held up.
const waitingStatus = 5

func (s *session) tellStatusEnds() {
	if s.o.Status != nil {
		s.lines <- func(io.Writer) error { s.o.Status(nil); return nil }
	}
}

// show starts the live page, which lasts until showEnd.
func (s *session) show(run result.Run) {
	more := s.drilling != nil && s.o.Repeat+1 < s.o.Scenario.Drill.Repeat
	anyPort := strings.HasSuffix(s.o.Live, ":0") // the next run will be found at another address
	s.live = live.New(run, s.planned(), more && !anyPort)
	ctx, cancel := context.WithCancel(context.Background())
	s.stopLive = cancel
	s.shown.Go(func() {
		defer cancel() // it has shown the end: nothing is served any more
		s.live.Run(ctx)
	})
	s.shown.Go(func() {
		if err := s.live.Serve(ctx, s.addrs.live, s.o.Live); err != nil {
			s.o.Notes.Note("warning: %v", err)
		}
	})
	s.o.Notes.Note("live page on http://%s/", s.addrs.live.Addr())
}

// showEnd tells who looks on how the run ended, where that is known, and waits until
// they have it.
func (s *session) showEnd(sum result.Summary, known bool) {
	if s.live == nil {
		return
	}
	if known {
		s.live.Finish(sum)
	} else {
		s.stopLive()
	}
	s.shown.Wait()
}
