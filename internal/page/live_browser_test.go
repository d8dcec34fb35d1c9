//go:build browser

package page

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
)

// liveDrill fails over in the middle, on servers of its own. The rates leave the
// browser a processor.
const liveDrill = `name: live
ranking: {key: ranking, members: 20000, score_spread: 1000}
topology: {shards: 1, replicas: 2}
phases:
  - name: mixed
    duration: 25s
    ops: {set: {rate: 300, workers: 8}, get: {rate: 300, workers: 8}}
drill:
  steps:
    - at: 8s
      test_failover: {node_group: "0001"}
  settle: 1m
audit: true
limits: {set: {outage: 60s}}
`

// tool is rankbench as a process of its own, with a live page.
type tool struct {
	t      *testing.T
	cmd    *exec.Cmd
	folder string
	url    string
	ended  chan error
	tail   strings.Builder // what it said on stderr; read it when it has ended
}

var liveAt = regexp.MustCompile(`^live page on (http://127\.0\.0\.1:\d+/)$`)

// startDrill builds rankbench, runs the drill and returns when its page is served.
func startDrill(t *testing.T) *tool {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "rankbench")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/rankbench").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	must(t, os.WriteFile(filepath.Join(dir, "live.yaml"), []byte(liveDrill), 0o644))
	d := &tool{t: t, folder: filepath.Join(dir, "out"), ended: make(chan error, 1)}
	d.cmd = exec.Command(binary, "drill", "--local", "live.yaml", "--live", ":0", "--interval", "1s", "--out", "out")
	d.cmd.Dir = dir
	said, err := d.cmd.StderrPipe()
	must(t, err)
	must(t, d.cmd.Start())
	url := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			d.tail.WriteString(lines.Text() + "\n")
			if m := liveAt.FindStringSubmatch(lines.Text()); m != nil {
				url <- m[1]
			}
		}
		d.ended <- d.cmd.Wait()
	}()
	t.Cleanup(d.stop)
	select {
	case d.url = <-url:
	case err := <-d.ended:
		d.ended = nil
		t.Fatalf("the drill ended: %v\n%s", err, d.tail.String())
	case <-time.After(time.Minute):
		t.Fatal("no live page within a minute")
	}
	return d
}

// stop ends a drill that still runs, so that it takes its servers with it.
func (d *tool) stop() {
	if d.ended == nil {
		return
	}
	_ = d.cmd.Process.Signal(os.Interrupt) // it may have ended
	select {
	case <-d.ended:
	case <-time.After(time.Minute):
		_ = d.cmd.Process.Kill()
	}
}

func (d *tool) wait() {
	d.t.Helper()
	select {
	case err := <-d.ended:
		d.ended = nil
		if err != nil {
			d.t.Fatalf("the drill: %v\n%s", err, d.tail.String())
		}
	case <-time.After(2 * time.Minute):
		d.t.Fatal("the drill did not end")
	}
}

// visit opens a page that is served.
func visit(t *testing.T, url string, width, height int64) *browser {
	t.Helper()
	b := blank(t, width, height)
	b.url = url
	b.do(chromedp.Navigate(url), chromedp.WaitVisible(chromedp.CSS("figure svg")))
	return b
}

// until waits for an expression to become true.
func (b *browser) until(js string, within time.Duration) {
	b.t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); !value[bool](b, js); <-tick.C {
		if time.Since(began) > within {
			b.t.Fatalf("not within %v: %s; the page says %q", within, js, value[string](b, `document.querySelector("main section").innerText`))
		}
	}
}

// asked fails if the page has asked for anything but itself and its stream.
func (b *browser) asked() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	streams := 0
	for _, url := range b.requests {
		switch url {
		case b.url, "data:,":
		case b.url + "stream":
			streams++
		default:
			b.t.Errorf("the page asked for %s", url)
		}
	}
	if streams == 0 {
		b.t.Error("the page did not ask for its stream")
	}
	for _, p := range b.problems {
		b.t.Errorf("the browser says: %s", p)
	}
}

const stateText = `document.getElementById("state").textContent`

func TestLivePageFollowsADrillToItsEnd(t *testing.T) {
	d := startDrill(t)
	b := visit(t, d.url, 1300, 900)
	b.until(stateText+` === "mixed"`, time.Minute)
	b.until(`/next step: test_failover of 0001, in 0:0\d/.test(document.getElementById("next").textContent)`, 10*time.Second)
	early := b.axis()
	b.until(`document.querySelectorAll("figure[data-lane='rps'] rect.shade").length > 0`, time.Minute)
	b.view("live")
	if a := b.axis(); a.To <= early.To {
		t.Errorf("the axis ended at %g s, and ends at %g s now", early.To, a.To)
	}
	late := visit(t, d.url, 390, 844)
	late.until(fmt.Sprintf(`+document.getElementById("lanes").dataset.to >= %g && +document.getElementById("lanes").dataset.from === 0`, early.To), 30*time.Second)
	late.until(`document.querySelectorAll("#rows tr").length > 3`, 10*time.Second)
	if wide := value[float64](late, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("on a phone the page is %g wide", wide)
	}
	b.until(stateText+`.startsWith("Finished")`, 2*time.Minute)
	d.wait()
	sum, err := report.Summarize(d.folder)
	must(t, err)
	for _, v := range []*browser{b, late} {
		v.until(stateText+` === "Finished: PASS"`, 10*time.Second)
		checkService(t, v.axis(), v.shades("rps"), sum)
		if got, want := value[int](v, `document.querySelectorAll("#rows tr").length`), len(sum.Events); got != want {
			t.Errorf("%d events are in the table, %d in the summary", got, want)
		}
		text := value[string](v, `document.getElementById("now").innerText`)
		longest := 0.0
		for _, o := range sum.Outages {
			longest = max(longest, o.DurationS)
		}
		if !strings.Contains(text, fmt.Sprintf("%.2f s", longest)) {
			t.Errorf("the cards lack the longest outage, %.2f s: %s", longest, text)
		}
	}
	b.shot("live-finished")
	// Long after the tool has gone, the page stays as it is.
	<-time.After(3 * time.Second)
	b.until(stateText+` === "Finished: PASS"`, time.Second)
	b.asked()
	late.asked()
}

// checkService holds the shades of the service's part against the summary.
func checkService(t *testing.T, a axis, got []rect, sum result.Summary) {
	t.Helper()
	o := sum.Outages[0]
	for _, s := range got {
		if s.Part == serviceShade && near(s.Left, a.x(o.FromS), 2) {
			return
		}
	}
	t.Errorf("no shade of the service's part begins with the first outage, at %g s (pixel %g): %v", o.FromS, a.x(o.FromS), got)
}

func TestLivePageSaysThatTheToolWasKilled(t *testing.T) {
	d := startDrill(t)
	b := visit(t, d.url, 1300, 900)
	b.until(stateText+` === "mixed"`, time.Minute)
	must(t, d.cmd.Process.Kill())
	<-d.ended
	d.ended = nil
	b.until(stateText+`.startsWith("Connection lost at ")`, time.Minute)
	if a := b.axis(); a.To <= 0 {
		t.Error("the figures have gone with the tool")
	}
}
