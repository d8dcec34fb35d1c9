//go:build browser

package page

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// screenshots names the environment variable with the folder that pictures of the
// page are written to.
const screenshots = "RANKBENCH_SCREENSHOTS"

// browser is a page in a Chromium of the test's own.
type browser struct {
	t   *testing.T
	ctx context.Context
	url string

	mu       sync.Mutex
	requests []string
	problems []string // what the console says, and exceptions
}

// chromium is its path; without one the test fails in CI, and is skipped elsewhere.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no chromium on PATH: .ci/install chromium installs it")
	}
	t.Skip("no chromium on PATH: `make chromium` installs it; what the page does in a browser is not tested")
	return ""
}

// open opens a page from disk.
func open(t *testing.T, page []byte, width, height int64) *browser {
	t.Helper()
	b := blank(t, width, height)
	b.load(page)
	return b
}

// blank is a browser without a page.
func blank(t *testing.T, width, height int64) *browser {
	t.Helper()
	b := &browser{t: t}
	b.start(chromium(t), t.TempDir())
	must(t, call(b, log.Enable, cdp.Empty{}))
	must(t, call(b, network.Enable, network.EnableParams{}))
	must(t, call(b, runtime.Enable, cdp.Empty{}))
	must(t, chromedp.Listen(b.ctx, b.hear))
	var view []chromedp.EmulateViewportOption
	if width < 500 {
		view = append(view, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait)
	}
	b.do(chromedp.EmulateViewport(width, height, view...))
	return b
}

// load writes a page to disk and opens it.
func (b *browser) load(page []byte) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "report.html")
	must(b.t, os.WriteFile(file, page, 0o644))
	b.url = "file://" + file
	b.do(chromedp.Navigate(b.url), chromedp.WaitVisible(chromedp.CSS("figure svg")))
}

// start starts Chromium with a profile of its own. chromedp talks to it through a
// pipe, so that no port is opened, and no name is resolved.
func (b *browser) start(path, profile string) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), chromedp.Flag("no-proxy-server", true))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), 3*time.Minute)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	ctx, closeTab := chromedp.NewContext(ctx)
	b.ctx = ctx
	b.t.Cleanup(func() { // the browser goes before its profile does
		if err := chromedp.Cancel(ctx); err != nil {
			b.t.Logf("close chromium: %v", err)
		}
		closeTab()
		stop()
		cancel()
	})
}

func call[P, R any](b *browser, c cdp.Command[P, R], params P) error {
	_, err := chromedp.Call(b.ctx, c, params)
	return err
}

func (b *browser) hear(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, ev.Request.URL)
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, fmt.Sprintf("console.%s", ev.Type))
	case *runtime.EventExceptionThrown:
		problem := fmt.Sprintf("%s, line %d", ev.ExceptionDetails.Text, ev.ExceptionDetails.LineNumber+1)
		if e := ev.ExceptionDetails.Exception; e != nil {
			problem += ": " + e.Description
		}
		b.problems = append(b.problems, problem)
	case *log.EventEntryAdded:
		b.problems = append(b.problems, ev.Entry.Text)
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	must(b.t, chromedp.Do(b.ctx, actions...))
}

// value evaluates an expression of JavaScript.
func value[T any](b *browser, js string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](js))
	must(b.t, err)
	return v
}

// quiet fails if the page has asked for anything but itself, or complained.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.requests {
		if url != b.url && url != "data:," {
			b.t.Errorf("the page asked for %s", url)
		}
	}
	if len(b.requests) == 0 {
		b.t.Error("no request was seen at all, not even that for the page")
	}
	for _, p := range b.problems {
		b.t.Errorf("the browser says: %s", p)
	}
}

// axis is the time axis as the lanes say it, in pixels of the window.
type axis struct{ From, To, Left, Width float64 }

func (b *browser) axis() axis {
	b.t.Helper()
	return value[axis](b, `(() => {
		const l = document.getElementById("lanes"), d = l.dataset, box = l.getBoundingClientRect();
		return {From: +d.from, To: +d.to, Left: box.left + l.clientLeft + +d.left, Width: +d.width};
	})()`)
}

func (a axis) x(t float64) float64 { return a.Left + (t-a.From)/(a.To-a.From)*a.Width }

// rect is a shade of a lane, in pixels of the window.
type rect struct {
	Part        string
	Left, Right float64
}

// shades are a lane's, from left to right.
func (b *browser) shades(lane string) []rect {
	b.t.Helper()
	found := value[[]rect](b, fmt.Sprintf(`[...document.querySelectorAll("figure[data-lane='%s'] rect.shade")].map((r) => {
		const box = r.getBoundingClientRect();
		return {Part: r.dataset.part, Left: box.left, Right: box.right};
	})`, lane))
	slices.SortFunc(found, func(a, b rect) int { return cmp.Compare(a.Left, b.Left) })
	return found
}

// pictureY is the middle of a lane's picture; the page is scrolled to it.
func (b *browser) pictureY(lane string) float64 {
	b.t.Helper()
	return value[float64](b, fmt.Sprintf(`(() => {
		const p = document.querySelector("figure[data-lane='%s'] .picture");
		p.scrollIntoView({block: "center"});
		const box = p.getBoundingClientRect();
		return (box.top + box.bottom) / 2;
	})()`, lane))
}

func (b *browser) move(x, y float64) chromedp.Action[chromedp.Void] {
	return chromedp.MouseEvent(chromedp.MouseMoved, x, y)
}

func (b *browser) drag(x0, x1, y float64) {
	b.t.Helper()
	left := []chromedp.MouseOption{chromedp.ButtonLeft}
	b.do(b.move(x0, y), chromedp.MouseEvent(chromedp.MousePressed, x0, y, left...),
		chromedp.MouseEvent(chromedp.MouseMoved, (x0+x1)/2, y, left...), chromedp.MouseEvent(chromedp.MouseMoved, x1, y, left...),
		chromedp.MouseEvent(chromedp.MouseReleased, x1, y, left...))
}

func near(a, b, within float64) bool { return math.Abs(a-b) <= within }

// shot writes a picture of the whole page, if there is a folder for it.
func (b *browser) shot(name string) {
	b.t.Helper()
	b.keep(name, chromedp.FullScreenshot(100))
}

// view writes a picture of what the window shows: to take the whole page, the
// window is resized, and what was pointed at is not any more.
func (b *browser) view(name string) {
	b.t.Helper()
	b.keep(name, chromedp.CaptureScreenshot())
}

func (b *browser) keep(name string, picture chromedp.Action[[]byte]) {
	b.t.Helper()
	dir := os.Getenv(screenshots)
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, picture)
	must(b.t, err)
	must(b.t, os.MkdirAll(dir, 0o755))
	must(b.t, os.WriteFile(filepath.Join(dir, "report-"+name+".png"), png, 0o644))
}
