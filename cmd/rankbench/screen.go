package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/rankbench/rankbench/internal/legible"
	"github.com/rankbench/rankbench/internal/progress"
)

// screen keeps a line below the output that says how far a run is. It is taken away
// before anything else is written to the terminal, and drawn again below it; where
// stdout is no terminal, there is none. It is safe for concurrent use.
type screen struct {
	out, err *os.File
	terminal bool // stdout is one that can be drawn on
	shared   bool // stderr is on it, too

	mu   sync.Mutex
	line string // drawn now, "" for none
}

// newScreen returns the screen of this process, without a line.
func newScreen(out, err *os.File) *screen {
	terminal := term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb"
	return &screen{out: out, err: err, terminal: terminal, shared: terminal && term.IsTerminal(int(err.Fd()))}
}

// width is how many characters fit in a line: the terminal may be resized.
func (s *screen) width() int {
	if w, _, err := term.GetSize(int(s.out.Fd())); err == nil && w > 0 {
		return w
	}
	return 80 // as on those that do not know
}

// stdout writes above the line.
func (s *screen) stdout() io.Writer { return above{s, s.out} }

// stderr does so where it is the same terminal.
func (s *screen) stderr() io.Writer {
	if s.shared {
		return above{s, s.err}
	}
	return s.err
}

// above is a stream that is written to above the line. What is written must end with
// the end of a line.
type above struct {
	*screen
	f *os.File
}

func (a above) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	line := a.line
	a.draw("")
	n, err := a.f.Write(p)
	a.draw(line)
	return n, err
}

// eraseLine goes to the line's beginning and empties it: ECMA-48, CR and EL.
const eraseLine = "\r\x1b[K"

// draw replaces the line; what cannot be drawn is left out.
func (s *screen) draw(line string) {
	if s.line == "" && line == "" {
		return
	}
	s.line = line
	_, _ = io.WriteString(s.out, eraseLine+line)
}

// status shows how far a run is, nothing for nil.
func (s *screen) status(st *progress.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st == nil {
		s.draw("")
		return
	}
	s.draw(statusLine(*st, s.width()-1)) // in the last column some terminals begin a new line
}

// statusLine is such as "1:10 · 0:50 left · mixed · 31,612/s ▁▂▇█ · failed 212 (12 in the last second) ·
// next: test_failover of 0001 in 0:20", as far as there is room.
func statusLine(s progress.Status, width int) string {
	parts := []string{seconds(s.ElapsedS)}
	if s.State == progress.Load {
		parts = append(parts, seconds(s.RemainingS())+" left", phaseOf(s), rateOf(s), failedOf(s), nextOf(s))
	} else {
		parts = append(parts, "the load is over; waiting for what the steps began")
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	line := []rune(strings.Join(parts, " · "))
	if len(line) > width {
		line = append(line[:max(0, width-1)], '…')
	}
	return string(line)
}

// maxName is how much of a name is shown in the line, characters.
const maxName = 30

func phaseOf(s progress.Status) string {
	text := legible.Text(s.Phase, maxName)
	if s.Warmup {
		text += ", warm-up"
	}
	return text
}

func rateOf(s progress.Status) string {
	if len(s.Past) == 0 {
		return ""
	}
	return legible.Grouped(s.Past[len(s.Past)-1]) + "/s " + spark(s.Past)
}

func failedOf(s progress.Status) string {
	text := "failed " + legible.Grouped(int64(s.Failed))
	if s.Failing > 0 {
		text += fmt.Sprintf(" (%s in the last second)", legible.Grouped(int64(s.Failing)))
	}
	return text
}

func nextOf(s progress.Status) string {
	switch {
	case s.Next == "":
		return ""
	case s.NextInS == nil:
		return "next: " + legible.Text(s.Next, 2*maxName) + " when the one before has recovered"
	}
	return "next: " + legible.Text(s.Next, 2*maxName) + " in " + seconds(*s.NextInS)
}

// sparkSeconds is how many seconds the picture of the rate goes back.
const sparkSeconds = 20

// spark draws the last seconds from 0 to their greatest.
func spark(past []int64) string {
	past = past[max(0, len(past)-sparkSeconds):]
	most := float64(max(1, slices.Max(past)))
	var b strings.Builder
	for _, n := range past {
		b.WriteRune([]rune("▁▂▃▄▅▆▇█")[int(math.Round(float64(n)/most*7))])
	}
	return b.String()
}

// seconds is 4:10, an hour later 1:04:10.
func seconds(s float64) string {
	text := legible.Clock(math.Floor(s))
	return text[:len(text)-2]
}
