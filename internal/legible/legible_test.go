package legible_test

import (
	"strings"
	"testing"

	"github.com/rankbench/rankbench/internal/legible"
)

func TestTextDoesNothingToATerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain → µs … 漢字": "plain → µs … 漢字", "a\x1b[31mb": `a\x1b[31mb`, "a\nb\tc\r": `a\nb\tc\r`, "\x00\x7f": `\x00\x7f`, "\u009b": `\x9b`, "\u202e\u2028\ufeff": `\u202e\u2028\ufeff`,
		"\xff\xc3(": `\xff\xc3(`, `C:\x1b`: `C:\x1b`, "1234567890": "1234567890", "12345678901": "1234567890… (1 characters more)",
	} {
		most := 10
		if len(in) > 11 || strings.Contains(in, "\\") {
			most = 100
		}
		if got := legible.Text(in, most); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestLinesKeepTheirEndsAndTabs(t *testing.T) {
	if got, want := legible.Lines("a\tb\x1b\n\nc\r\n123456", 5), "a\tb\\x1b\n\nc\\r\n12345… (1 characters more)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFigures(t *testing.T) {
	for s, want := range map[float64]string{0: "0:00.0", 59.94: "0:59.9", 59.95: "1:00.0", 127.1: "2:07.1", 3599.96: "1:00:00.0", 3727.1: "1:02:07.1"} {
		if got := legible.Clock(s); got != want {
			t.Errorf("%g s is %s, want %s", s, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1203455: "1,203,455", -1000: "-1,000", -999: "-999"} {
		if got := legible.Grouped(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}
