//go:build browser

package page

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// theme is what a reader's system asks for: light or dark.
func (b *browser) theme(name string) {
	b.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}
	must(b.t, call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}))
}

// barOf is a bar of a chart as it is drawn, in pixels; Value is the mean that its table says.
type barOf struct{ Left, Width, Track, Value float64 }

// bars are those of the first chart of all sections.
func (b *browser) bars() [][]barOf {
	b.t.Helper()
	return value[[][]barOf](b, `[...document.querySelectorAll(".charts")].map((c) => {
		const means = [...c.querySelector("figure table").querySelectorAll("tbody tr")].map((r) => +r.querySelector("data").value);
		return [...c.querySelector("figure").querySelectorAll(".row:not(.foot)")].map((r, i) => {
			const track = r.querySelector(".track").getBoundingClientRect(), pieces = [...r.querySelectorAll("rect")].map((p) => p.getBoundingClientRect());
			return {Left: pieces[0].left - track.left, Width: pieces.at(-1).right - pieces[0].left, Track: track.width, Value: means[i]};
		});
	})`)
}

// checkDrawn holds bars to each other: they begin where the picture does, and are as
// long as their means say, to half a pixel.
func checkDrawn(t *testing.T, bars []barOf) {
	t.Helper()
	if len(bars) == 0 || bars[0].Track < 60 {
		t.Fatalf("a chart is drawn as %+v", bars)
	}
	for _, b := range bars {
		if want := bars[0].Width * b.Value / bars[0].Value; !near(b.Left, 0, 0.5) || !near(b.Width, want, 1) || b.Width > b.Track+0.5 {
			t.Errorf("a bar of %g begins at %.1f and is %.1f wide in %.1f, want %.1f", b.Value, b.Left, b.Width, b.Track, want)
		}
	}
}

func TestComparisonInTheBrowser(t *testing.T) {
	for name, table := range comparisons(t) {
		page := comparisonOf(t, table)
		for _, width := range []int64{1300, 390} {
			t.Run(fmt.Sprintf("%s at %d", name, width), func(t *testing.T) {
				b := open(t, page, width, 900)
				for _, chart := range b.bars() {
					checkDrawn(t, chart)
				}
				if wide := value[float64](b, `document.documentElement.scrollWidth`); wide > float64(width) {
					t.Errorf("the page is %g wide", wide)
				}
				if n := value[int](b, overlaps); n > 0 {
					t.Errorf("%d texts stand on a bar or on each other", n)
				}
				b.quiet()
			})
		}
	}
}

// overlaps counts what covers something else in the rows of charts.
const overlaps = `[...document.querySelectorAll(".row:not(.foot)")].filter((r) => {
	const boxes = [...r.querySelectorAll(".name, .track, .value, .ratio, .verdict")].map((c) => c.getBoundingClientRect()).filter((b) => b.width > 0 && b.height > 0);
	return boxes.some((a, i) => boxes.slice(i + 1).some((b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
}).length`

func TestHostileComparisonIsInertInTheBrowser(t *testing.T) {
	text := `</style><script>window.harm = 1</script><img src="http://127.0.0.1:9/x" onerror="window.harm = 1">` + "\x1b[2J" + string(make([]byte, 10_000))
	b := open(t, comparisonOf(t, hostileComparison(t, text)), 390, 844)
	if value[bool](b, `"harm" in window || document.images.length > 0`) {
		t.Error("a text of a run became markup")
	}
	if wide := value[float64](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the page is %g wide", wide)
	}
	b.shot("compare-hostile")
	b.quiet()
}

func TestTablesOfAComparisonOpenByKeyboard(t *testing.T) {
	b := open(t, comparisonOf(t, compared(t, kinds["few"]()...)), 1300, 900)
	b.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("figure summary").focus()`), chromedp.KeyEvent("\r"))
	if !value[bool](b, `document.querySelector("figure details").open && document.querySelector("figure table").getBoundingClientRect().height > 50`) {
		t.Error("Enter does not open the table")
	}
	b.view("compare-table")
	b.quiet()
}

func TestScreenshotsOfComparisons(t *testing.T) {
	if os.Getenv(screenshots) == "" {
		t.Skip("writes pictures where " + screenshots + " names a folder")
	}
	for name, table := range comparisons(t) {
		page := comparisonOf(t, table)
		desk := open(t, page, 1300, 900)
		for _, theme := range []string{"light", "dark"} {
			desk.theme(theme)
			desk.shot("compare-" + name + "-" + theme)
			desk.view("compare-" + name + "-" + theme + "-top")
		}
		open(t, page, 390, 844).shot("compare-" + name + "-phone")
	}
}

func TestPrintedComparison(t *testing.T) {
	const a4 = 718 // pixels between the margins
	b := open(t, comparisonOf(t, compared(t, kinds["few"]()...)), a4, 1000)
	if dir := os.Getenv(screenshots); dir != "" {
		pdf, err := chromedp.Run(b.ctx, chromedp.PrintToPDF(chromedp.PDFPaper(chromedp.PaperA4)))
		must(t, err)
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "compare.pdf"), pdf, 0o644))
	}
	must(t, call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
	if n := value[int](b, `[...document.querySelectorAll(".contents, .skip, figure summary")].filter((e) => e.getBoundingClientRect().height > 0).length`); n > 0 {
		t.Errorf("%d controls are printed", n)
	}
	if wide := value[float64](b, `document.documentElement.scrollWidth`); wide > a4 {
		t.Errorf("on paper the page is %g wide", wide)
	}
	b.shot("compare-print")
}
