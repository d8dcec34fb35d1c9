//go:build browser

package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
)

func TestShadesStandWhereTheSummarySays(t *testing.T) {
	folder := folderOf(t, clientPartRun)
	sum, err := report.Summarize(folder)
	must(t, err)
	if len(sum.Outages) != 1 || *sum.Outages[0].ClientS < 0.5 {
		t.Fatalf("the folder is to have one outage with a client's part: %+v", sum.Outages)
	}
	b := open(t, pageOf(t, folder), 1300, 900)
	for _, lane := range []string{"course", "rps", "errors", "latency-0", "node-0"} {
		checkShades(t, b.axis(), b.shades(lane), sum.Outages[0])
	}
	if got := b.shades("latency-1"); len(got) != 0 {
		t.Errorf("the lane of an operation without an outage has %v", got)
	}
	b.quiet()
}

// checkShades compares a lane's shades with an outage whose service's part came first.
func checkShades(t *testing.T, a axis, got []rect, o result.Outage) {
	t.Helper()
	border := o.FromS + *o.ServiceS
	want := []rect{{"service", a.x(o.FromS), a.x(border)}, {"client", a.x(border), a.x(o.ToS)}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i, w := range want {
		if got[i].Part != w.Part || !near(got[i].Left, w.Left, 1) || !near(got[i].Right, w.Right, 1) {
			t.Errorf("got %+v, want %+v", got[i], w)
		}
	}
}

func TestPageOfADrillIsReadAndZoomed(t *testing.T) {
	folder := folderOf(t, failoverRun)
	sum, err := report.Summarize(folder)
	must(t, err)
	b := open(t, pageOf(t, folder), 1300, 900)
	whole := b.axis()

	t.Run("hover reads all lanes", func(t *testing.T) {
		b.do(b.move(whole.x(10), b.pictureY("rps")))
		text := value[string](b, `document.getElementById("readout").innerText`)
		for _, want := range []string{"0:10.0", "Operations per second", "set", "find_by_order", "Latency of get", "p99", "Node lb-0001-003", "primary", "MB/s"} {
			if !strings.Contains(text, want) {
				t.Errorf("the readout lacks %q: %s", want, text)
			}
		}
		b.do(b.move(whole.x(sum.Outages[0].FromS+1), b.pictureY("errors")))
		text = value[string](b, `document.getElementById("readout").innerText`)
		if !strings.Contains(text, "outage: service") || !strings.Contains(text, "refused") {
			t.Errorf("in the outage the readout says %s", text)
		}
	})
	t.Run("a drag zooms all lanes", func(t *testing.T) {
		y := b.pictureY("rps")
		b.drag(whole.x(25), whole.x(40), y)
		a := b.axis()
		if !near(a.From, 25, 0.2) || !near(a.To, 40, 0.2) {
			t.Errorf("the axis goes from %g to %g", a.From, a.To)
		}
		for _, r := range b.shades("node-2")[:1] {
			if !near(r.Left, a.x(sum.Outages[0].FromS), 1) {
				t.Errorf("after the zoom the shade begins at %g, not %g", r.Left, a.x(sum.Outages[0].FromS))
			}
		}
	})
	for _, reset := range []struct {
		name string
		do   chromedp.Action[chromedp.Void]
	}{
		{"button", chromedp.Click(chromedp.CSS("#reset"))},
		{"Escape", chromedp.KeyEvent(kb.Escape)},
		{"0", chromedp.KeyEvent("0")},
	} {
		t.Run("whole run by "+reset.name, func(t *testing.T) {
			b.do(chromedp.Click(chromedp.CSS("#in")))
			if a := b.axis(); a.To-a.From > 0.6*(whole.To-whole.From) {
				t.Errorf("zooming in shows %g s", a.To-a.From)
			}
			b.do(reset.do)
			if a := b.axis(); a.From != whole.From || a.To != whole.To {
				t.Errorf("the axis goes from %g to %g", a.From, a.To)
			}
		})
	}
	t.Run("keys read and zoom", func(t *testing.T) {
		const read = `document.querySelector("#readout h3").textContent`
		b.do(chromedp.Focus(chromedp.CSS("#lanes")), chromedp.KeyEvent(kb.Home))
		if got := value[string](b, read); got != "0:00.0" {
			t.Errorf("Home reads at %s", got)
		}
		b.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
		if got := value[string](b, read); got != "0:00.6" { // two two-hundredths of a minute
			t.Errorf("two steps to the right read at %s", got)
		}
		b.do(chromedp.KeyEvent("+"))
		if a := b.axis(); !near(a.To-a.From, (whole.To-whole.From)/2, 0.01) {
			t.Errorf("+ shows %g s", a.To-a.From)
		}
		b.do(chromedp.KeyEvent("-"))
	})
	b.quiet()
}

// TestScriptDrawsAModelWithoutAFigure: such as of a run's first moment.
func TestScriptDrawsAModelWithoutAFigure(t *testing.T) {
	b := open(t, pageOf(t, folderOf(t, failoverRun)), 1300, 900)
	lines := value[int](b, `(() => {
		const m = JSON.parse(document.getElementById("model").textContent);
		for (const s of m.lanes.flatMap((l) => l.panels || []).flatMap((p) => p.series)) for (const key of ["v", "lo", "hi"]) if (s[key]) s[key] = s[key].map(() => null);
		rankbench.draw(m);
		return document.querySelectorAll("figure[data-lane='latency-0'] line.grid").length;
	})()`)
	if lines == 0 {
		t.Error("a lane without a figure has no grid")
	}
	b.quiet()
}

func TestScriptDrawsALaterModel(t *testing.T) {
	b := open(t, pageOf(t, folderOf(t, failoverRun)), 1300, 900)
	figures := value[int](b, `(() => {
		const m = JSON.parse(document.getElementById("model").textContent);
		m.to_s = 90;
		m.lanes.push({...m.lanes.at(-1), id: "node-9", title: "<b>new</b>"});
		rankbench.draw(m);
		return document.querySelectorAll("figure svg").length;
	})()`)
	if want := value[int](b, `JSON.parse(document.getElementById("model").textContent).lanes.length + 1`); figures != want {
		t.Errorf("%d lanes are drawn, want %d", figures, want)
	}
	if a := b.axis(); a.To != 90 {
		t.Errorf("a view of the whole run ends at %g s", a.To)
	}
	if value[int](b, `document.querySelectorAll("h3 b").length`) != 0 {
		t.Error("a name became markup")
	}
	b.quiet()
}

// TestTenHoursOpenInTwoSeconds counts the time of the page's thread, so that a busy
// host does not make it fail.
func TestTenHoursOpenInTwoSeconds(t *testing.T) {
	if testing.Short() {
		t.Skip("makes ten hours of intervals")
	}
	page := tenHours(t)
	b := blank(t, 1300, 900)
	domain := performance.EnableTimeDomainThreadTicks
	must(t, call(b, performance.Enable, performance.EnableParams{TimeDomain: domain}))
	b.load(page)
	metrics, err := chromedp.Call(b.ctx, performance.GetMetrics, cdp.Empty{})
	must(t, err)
	wall := value[float64](b, `performance.getEntriesByType("navigation")[0].loadEventEnd`)
	for _, m := range metrics.Metrics {
		if m.Name != "TaskDuration" {
			continue
		}
		t.Logf("opened in %.0f ms, of which the page's thread worked %.0f ms", wall, 1000*m.Value)
		if m.Value <= 0 || m.Value > 2 {
			t.Errorf("to open the page took %.2f s", m.Value)
		}
	}
	b.shot("ten-hours")
	b.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("timeline").scrollIntoView()`))
	b.view("ten-hours-top")
	b.quiet()
}

func TestScreenshots(t *testing.T) {
	if os.Getenv(screenshots) == "" {
		t.Skip("writes pictures where " + screenshots + " names a folder")
	}
	page := pageOf(t, folderOf(t, failoverRun))
	desk := open(t, page, 1300, 900)
	desk.shot("light")
	desk.do(desk.move(desk.axis().x(31), desk.pictureY("rps")))
	desk.view("hover")
	desk.drag(desk.axis().x(28), desk.axis().x(38), desk.pictureY("rps"))
	desk.view("zoomed")
	desk.do(chromedp.Click(chromedp.CSS("#reset")), chromedp.Click(chromedp.CSS("#theme")), chromedp.Click(chromedp.CSS("h1")))
	desk.shot("dark")
	phone := open(t, page, 390, 844)
	if wide := value[float64](phone, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("on a phone the page is %g wide", wide)
	}
	phone.shot("phone")
	phone.do(chromedp.Evaluate[chromedp.Void](`document.getElementById("timeline").scrollIntoView()`))
	phone.view("phone-top")
	part := open(t, pageOf(t, folderOf(t, clientPartRun)), 1300, 900)
	part.shot("client-part")
}

func TestPrintedPageHasNoControls(t *testing.T) {
	b := open(t, pageOf(t, folderOf(t, failoverRun)), 1300, 900)
	must(t, call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	for _, id := range []string{"theme", "tools", "hint", "readout"} {
		if value[float64](b, fmt.Sprintf(`document.getElementById(%q).getBoundingClientRect().height`, id)) > 0 {
			t.Errorf("#%s is printed", id)
		}
	}
	b.shot("print")
	if dir := os.Getenv(screenshots); dir != "" {
		pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
		must(t, err)
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "report.pdf"), pdf, 0o644))
	}
}

func TestHostileTextsAreInertInTheBrowser(t *testing.T) {
	text := `</script><script>window.harm = 1</script><img src="http://127.0.0.1:9/x" onerror="window.harm = 1">` + "\x1b[2J"
	m := made{seconds: 30, nodes: 2, ops: []string{"set", text}, scenario: text, class: text, words: text}
	b := open(t, pageOf(t, m.write(t)), 1300, 900)
	b.do(b.move(b.axis().x(16), b.pictureY("rps")))
	if !strings.Contains(value[string](b, `document.getElementById("readout").innerText`), "<img src=") {
		t.Error("the readout does not show the text as it is")
	}
	if value[bool](b, `"harm" in window || document.images.length > 0`) {
		t.Error("a text of the run became markup")
	}
	b.quiet()
}
