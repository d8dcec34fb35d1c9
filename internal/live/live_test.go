package live_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rankbench/rankbench/internal/live"
	"github.com/rankbench/rankbench/internal/page"
	"github.com/rankbench/rankbench/internal/progress"
	"github.com/rankbench/rankbench/internal/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// waitLimit is for what takes a second at most, on a host that is busy.
const waitLimit = 30 * time.Second

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// served is a page that is served until the test ends, or it has ended itself.
type served struct {
	*live.Page
	url  string
	stop context.CancelFunc
}

func serve(t *testing.T, p *live.Page) *served {
	t.Helper()
	ln, err := live.Listen(":0")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ran, ended := make(chan struct{}), make(chan error, 1)
	go func() { defer close(ran); p.Run(ctx); cancel() }()
	go func() { ended <- p.Serve(ctx, ln, "viewers.example:0") }()
	t.Cleanup(func() {
		cancel()
		<-ran
		must(t, <-ended)
		http.DefaultClient.CloseIdleConnections()
	})
	return &served{p, "http://" + ln.Addr().String(), cancel}
}

func run() result.Run {
	return result.Run{
		Scenario: "spring", Command: "drill", ReadFrom: "replica", IntervalS: 1, Started: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
		Phases: []result.RunPhase{{Name: "mixed", DurationS: 600, Ops: []string{"set", "get"}}},
	}
}

func second(from float64) result.Interval {
	at := uint64(from * 100)
	return result.Interval{FromS: from, ToS: from + 1, Cells: []result.Cell{
		{Op: "set", OK: 2, OKAt: result.Series{From: at, N: []uint32{1, 1}}},
		{Op: "get", OK: 1, OKAt: result.Series{From: at, N: []uint32{1}}, Errors: map[string]result.Failure{"refused": {N: 1, At: [][2]uint64{{at, 1}}}}},
	}}
}

// stream is what a viewer reads.
type stream struct {
	t    *testing.T
	body io.ReadCloser
	in   *bufio.Scanner
}

func (s *served) watch(t *testing.T) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/stream", nil)
	must(t, err)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s, %s", res.Status, res.Header.Get("Content-Type"))
	}
	in := bufio.NewScanner(res.Body)
	in.Buffer(nil, 64<<20)
	t.Cleanup(func() { cancel(); res.Body.Close() })
	return &stream{t, res.Body, in}
}

// next is the next event and its data; "" at the stream's end.
func (s *stream) next() (name string, data []byte) {
	for s.in.Scan() {
		line := s.in.Text()
		switch {
		case line == "" && name != "":
			return name, data
		case strings.HasPrefix(line, "event: "):
			name = strings.TrimPrefix(line, "event: ")
		case strings.HasPrefix(line, "data: "):
			data = []byte(strings.TrimPrefix(line, "data: "))
		}
	}
	return "", nil
}

// until reads on to an event of that name, and decodes its data.
func (s *stream) until(name string, into any) (passed []string) {
	s.t.Helper()
	for {
		got, data := s.next()
		if got == "" {
			s.t.Fatalf("the stream ended before %q came: %v, after %v", name, s.in.Err(), passed)
		}
		if got == name {
			must(s.t, json.Unmarshal(data, into))
			return passed
		}
		passed = append(passed, got)
	}
}

func TestViewerIsSentTheWholeRunAndThenWhatIsNew(t *testing.T) {
	s := serve(t, live.New(run(), []progress.Step{{AtS: 120, What: "test_failover of 0001"}}, false))
	for i := range 30 {
		s.Interval(second(float64(i)))
	}
	s.Event(result.Event{AtS: 12, Source: "node", Subject: "lb-0001-002", Message: "is primary"})
	v := s.watch(t)
	var m page.Model
	var st progress.Status
	for m.ToS < 30 || st.ElapsedS < 30 { // in any order
		switch name, data := v.next(); name {
		case "model":
			must(t, json.Unmarshal(data, &m))
		case "status":
			must(t, json.Unmarshal(data, &st))
		default:
			t.Fatalf("%q came, at %g s", name, m.ToS)
		}
	}
	if m.ToS != 30 || len(m.Events) != 1 || m.Lanes[1].ID != "rps" {
		t.Fatalf("the first model goes to %g s, with %d events", m.ToS, len(m.Events))
	}
	if st.Failed != 30 || st.Next != "test_failover of 0001" || *st.NextInS != 90 {
		t.Errorf("status %+v", st)
	}
	s.Interval(second(30))
	s.Outage(result.Outage{Op: "set", FromS: 29.02, Open: true})
	var tail page.Tail
	if passed := v.until("tail", &tail); strings.Contains(strings.Join(passed, " "), "model") {
		t.Errorf("a whole model came again: %v", passed)
	}
	if tail.ToS != 31 || len(tail.Lanes) != len(m.Lanes) {
		t.Errorf("the tail goes to %g s, of %d lanes", tail.ToS, len(tail.Lanes))
	}
	if tail.Lanes[1].Series[0].From < 29 { // steps of a second, as there are few operations
		t.Errorf("the tail repeats the rates from step %d on", tail.Lanes[1].Series[0].From)
	}
}

func TestOutageIsShadedAsLongAsItLasts(t *testing.T) {
	s := serve(t, live.New(run(), nil, false))
	s.Interval(second(0))
	s.Interval(result.Interval{FromS: 1, ToS: 2})
	s.Outage(result.Outage{Op: "set", FromS: 0.02, ToS: 1.5, Open: true})
	v := s.watch(t)
	var m page.Model
	v.until("model", &m)
	if len(m.Shades) != 1 || m.Shades[0].FromS != 0.02 || m.Shades[0].ToS != 2 {
		t.Errorf("an outage that goes on is shaded as %+v", m.Shades)
	}
	s.Interval(result.Interval{FromS: 2, ToS: 3})
	s.Outage(result.Outage{Op: "set", FromS: 0.02, ToS: 2.5, DurationS: 2.48})
	var tail page.Tail
	v.until("tail", &tail)
	for tail.ToS < 3 || tail.Shades[0].ToS != 2.5 { // the outage may come a frame later
		v.until("tail", &tail)
	}
}

func TestEndIsToldToAllViewersAndThenNothingIsServed(t *testing.T) {
	s := serve(t, live.New(run(), nil, true))
	s.Interval(second(0))
	viewers := []*stream{s.watch(t), s.watch(t)}
	for _, v := range viewers {
		v.until("model", &page.Model{})
	}
	service, client := 2.0, 0.5
	s.Finish(result.Summary{Complete: true, Verdict: "fail", Warnings: []string{"a doubt\x1b[2J"}, FailedSteps: []string{"step 1: no"},
		Outages: []result.Outage{{Op: "set", FromS: 0.2, ToS: 0.7, DurationS: 2.5, ServiceS: &service, ClientS: &client}}})
	for _, v := range viewers {
		var e page.Ended
		v.until("end", &e)
		if e.State != "Finished: FAIL" || !e.More || len(e.Faults) != 1 || len(e.Warnings) != 1 || strings.ContainsRune(e.Warnings[0], 0x1b) {
			t.Errorf("the end is told as %+v", e)
		}
		if name, _ := v.next(); name != "" {
			t.Errorf("after the end came %q", name)
		}
	}
}

func TestRunThatEndsWithoutASummaryEndsItsStreams(t *testing.T) {
	s := serve(t, live.New(run(), nil, false))
	s.Interval(second(0))
	v := s.watch(t)
	v.until("model", &page.Model{})
	s.stop()
	for name, _ := v.next(); name != ""; name, _ = v.next() {
		if name == "end" {
			t.Error("a run that was not finished is told as finished")
		}
	}
}

// TestPageIsShownToWhoAsksForItByItsAddress: a site of another name that points
// here is refused.
func TestPageIsShownToWhoAsksForItByItsAddress(t *testing.T) {
	s := serve(t, live.New(run(), nil, false))
	for host, want := range map[string]int{
		"": http.StatusOK, "localhost:9122": http.StatusOK, "localhost": http.StatusOK, "[::1]:9122": http.StatusOK, "viewers.example": http.StatusOK,
		"evil.example:9122": http.StatusMisdirectedRequest, "127.0.0.1.evil.example": http.StatusMisdirectedRequest,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
		must(t, err)
		req.Host = host
		res, err := http.DefaultClient.Do(req)
		must(t, err)
		body, err := io.ReadAll(res.Body)
		must(t, err)
		must(t, res.Body.Close())
		if res.StatusCode != want || want == http.StatusOK && !bytes.Contains(body, []byte("<title>spring: rankbench</title>")) {
			t.Errorf("host %q: %s", host, res.Status)
		}
	}
}

func TestTooManyViewersAreRefusedUntilOneLeaves(t *testing.T) {
	s := serve(t, live.New(run(), nil, false))
	var all []*stream
	for range 32 {
		all = append(all, s.watch(t))
	}
	if status := s.ask(t); status != http.StatusServiceUnavailable {
		t.Fatalf("the 33rd viewer got %d", status)
	}
	must(t, all[0].body.Close())
	for began := time.Now(); s.ask(t) != http.StatusOK; {
		if time.Since(began) > waitLimit {
			t.Fatal("a viewer has left, and none is let in")
		}
		s.Interval(second(0)) // the server finds out when it writes
	}
}

// ask opens a stream and closes it.
func (s *served) ask(t *testing.T) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/stream", nil)
	must(t, err)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	_ = res.Body.Close()
	return res.StatusCode
}

func TestListenWithoutAHostIsLoopback(t *testing.T) {
	ln, err := live.Listen(":0")
	must(t, err)
	defer ln.Close()
	if !strings.HasPrefix(ln.Addr().String(), "127.0.0.1:") {
		t.Errorf("it listens on %s", ln.Addr())
	}
	for _, bad := range []string{"", "9122", "nowhere.invalid:0"} {
		if ln, err := live.Listen(bad); err == nil {
			t.Errorf("%q is taken for %s", bad, ln.Addr())
		} else if !strings.Contains(err.Error(), "live page") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
