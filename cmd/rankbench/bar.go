package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"golang.org/x/term"
)

// bar shows how far a fill is: a bar with rate and time left on a terminal, a
// line now and then elsewhere.
type bar struct {
	w        io.Writer
	terminal bool
	writer   progress.Writer // nil while nothing is shown
	tracker  *progress.Tracker
	done     chan struct{} // closed after the last frame
	began    time.Time
	first    int64 // members that were there at the beginning
	lastLine time.Time
}

func newBar(f *os.File) *bar { return &bar{w: f, terminal: term.IsTerminal(int(f.Fd()))} }

// lineEvery is how often a line is printed where there is no terminal.
const lineEvery = 5 * time.Second

func (b *bar) set(done, of int64) {
	now := time.Now()
	if b.began.IsZero() {
		b.began, b.first, b.lastLine = now, done, now
	}
	if b.terminal {
		b.draw(done, of)
		return
	}
	if now.Sub(b.lastLine) >= lineEvery || done == of {
		b.lastLine = now
		fmt.Fprintln(b.w, progressLine(done, of, done-b.first, now.Sub(b.began)))
	}
}

func progressLine(done, of, sent int64, took time.Duration) string {
	rate := float64(sent) / max(took.Seconds(), 1e-3)
	line := fmt.Sprintf("filled %d of %d members (%.1f %%), %.0f/s", done, of, 100*float64(done)/float64(of), rate)
	if done < of && rate > 0 {
		line += fmt.Sprintf(", %s left", time.Duration(float64(of-done)/rate*float64(time.Second)).Round(time.Second))
	}
	return line
}

func (b *bar) draw(done, of int64) {
	if b.writer == nil {
		b.start(of)
	}
	b.tracker.SetValue(done)
	if done == of {
		b.stop()
	}
}

func (b *bar) start(of int64) {
	b.writer = progress.NewWriter()
	b.writer.SetOutputWriter(b.w)
	b.writer.SetTrackerLength(30)
	b.writer.SetTrackerPosition(progress.PositionRight)
	b.writer.SetUpdateFrequency(200 * time.Millisecond)
	v := b.writer.Style()
	v.Visibility.ETA, v.Visibility.Speed, v.Visibility.Value, v.Visibility.TrackerOverall = true, true, true, false
	b.tracker = &progress.Tracker{Message: "filling", Total: of, Units: progress.UnitsDefault}
	b.writer.AppendTracker(b.tracker)
	b.done = make(chan struct{})
	go func() {
		b.writer.Render()
		close(b.done)
	}()
}

// stop ends the drawing and waits for its last frame.
func (b *bar) stop() {
	if b.writer == nil {
		return
	}
	if !b.tracker.IsDone() {
		b.tracker.MarkAsDone()
	}
	b.writer.Stop()
	<-b.done
	b.writer = nil
}
