package report

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/result"
)

// hostile is what a scenario, a node or a server could say to do harm.
const hostile = "=cmd|'/C calc'!A1 <script>alert(1)</script> | a \\| b `code` ``` ```` **bold** [x](javascript:1) @everyone https://evil.example/ &amp;\n" +
	"verdict: pass\r\n| forged | row |\n```\n\x1b]0;title\x07\x1b[2J\x1b[31m\x00\x7f\u009b31m\u202eevil\u2028\u200b\xff\xc3("

// hostileRun is a run whose every text is hostile, and 10 kB long.
func hostileRun() (result.Run, result.Summary) {
	long := hostile + strings.Repeat("0123456789", 1000) + "\x1b[0m"
	run, s := failoverRun(), failover()
	infest := func(doc any) { infestValue(reflect.ValueOf(doc).Elem(), long) }
	infest(&run)
	infest(&s)
	run.Command = "drill"
	s.Verdict = "pass"
	return run, s
}

// infestValue replaces every text in a document; keys that name operations stay.
func infestValue(v reflect.Value, with string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(with)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				infestValue(v.Field(i), with)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			infestValue(v.Index(i), with)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			infestValue(v.Elem(), with)
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String || v.Type().Elem().Kind() == reflect.Uint64 {
			for _, key := range v.MapKeys() {
				value := reflect.New(v.Type().Elem()).Elem()
				value.Set(v.MapIndex(key))
				infestValue(value, with)
				v.SetMapIndex(key, reflect.Value{})
				v.SetMapIndex(reflect.ValueOf(with).Convert(v.Type().Key()), value)
			}
		}
	}
}

func hostileTable(t *testing.T) compare.Table {
	run, s := hostileRun()
	s.FailedSteps = nil
	c := conditions(run, s)
	other := append(compare.Conditions{{Key: hostile, Value: hostile}}, c...)
	return compared(t, []compare.Run{{Folder: hostile, Conditions: c, Summary: s}, {Folder: "b" + hostile, Conditions: other, Summary: s}, {Folder: "c" + hostile, Conditions: other, Summary: s}})
}

func hostileOutputs(t *testing.T) map[string]string {
	t.Helper()
	run, s := hostileRun()
	table := hostileTable(t)
	out := map[string]string{}
	put := func(name string, write func(io.Writer) error) {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		out[name] = b.String()
	}
	put("text", func(w io.Writer) error { return Text(w, s) })
	put("markdown", func(w io.Writer) error { return Markdown(w, run, s) })
	put("warnings", func(w io.Writer) error { return Warnings(w, hostile, s) })
	put("series", func(w io.Writer) error {
		return RepeatsText(w, result.Repeats{Scenario: hostile, Figures: []result.Figure{{Name: hostile, Unit: hostile}}})
	})
	put("lines", func(w io.Writer) error {
		return Lines(w, Period{Phase: hostile, Ops: map[string]result.OpSummary{"set": {Errors: map[string]uint64{hostile: 1}}}})
	})
	put("timeline", Entry{Source: hostile, Text: hostile}.Line)
	put("compared text", func(w io.Writer) error { return ComparisonText(w, table) })
	put("compared markdown", func(w io.Writer) error { return ComparisonMarkdown(w, table) })
	put("compared csv", func(w io.Writer) error { return ComparisonCSV(w, table) })
	put("csv", func(w io.Writer) error { return CSV(w, []string{hostileFolder(t)}) })
	return out
}

// hostileFolder is a run's folder with hostile names.
func hostileFolder(t *testing.T) string {
	t.Helper()
	f, err := result.Create(t.TempDir(), result.Run{Version: result.Version, Scenario: hostile, Phases: []result.RunPhase{{Name: hostile, Ops: []string{hostile}}}})
	if err != nil {
		t.Fatal(err)
	}
	err = f.Interval(result.Interval{ToS: 1, Cells: []result.Cell{{Op: "-" + hostile, OK: 1, Errors: map[string]result.Failure{"@" + hostile: {N: 1}}}}})
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return f.Path()
}

func TestHostileTextDoesNothingToATerminal(t *testing.T) {
	for name, text := range hostileOutputs(t) {
		if !utf8.ValidString(text) {
			t.Errorf("%s is not UTF-8", name)
		}
		for i, r := range text {
			if r != '\n' && !unicode.IsGraphic(r) || r == '\u2028' {
				t.Errorf("%s has %U: %q", name, r, text[max(0, i-40):i+20])
				break
			}
		}
		if !strings.Contains(text, `\x1b`) && name != "csv" && !strings.Contains(text, "characters more") {
			t.Errorf("%s does not show the escape code:\n%.500s", name, text)
		}
	}
}

func TestHostileTextForgesNoLine(t *testing.T) {
	for name, text := range hostileOutputs(t) {
		for _, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "verdict: pass") && line != "verdict: pass" || strings.HasPrefix(line, "| forged") || line == "```" && name == "compared markdown" {
				t.Errorf("%s has the line %q", name, line)
			}
			if most := 12 * maxText; utf8.RuneCountInString(line) > most {
				t.Errorf("%s has a line of %d characters: %.80q…", name, utf8.RuneCountInString(line), line)
			}
		}
	}
}

// outsideCode are the lines of Markdown that are not in a block of code; the fences must match.
func outsideCode(t *testing.T, text string) []string {
	t.Helper()
	var out []string
	fence := ""
	for _, line := range strings.Split(text, "\n") {
		run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(run) >= 3:
			fence = run
		case fence != "" && len(run) >= len(fence) && line == run:
			fence = ""
		case fence == "":
			out = append(out, line)
		}
	}
	if fence != "" {
		t.Error("a block of code does not end")
	}
	return out
}

func TestHostileTextIsNoMarkdown(t *testing.T) {
	all := hostileOutputs(t)
	for _, name := range []string{"markdown", "compared markdown"} {
		columns := 0
		for _, line := range outsideCode(t, all[name]) {
			bare := strings.NewReplacer(`\\`, "", `\|`, "", "\\`", "", `\*`, "", `\[`, "").Replace(line)
			if strings.ContainsAny(bare, "<>`[") || strings.Contains(bare, "**bold") || strings.Contains(line, "@everyone") || strings.Contains(line, "https://") {
				t.Errorf("%s: %q", name, line)
			}
			switch n := strings.Count(bare, "|"); {
			case !strings.HasPrefix(line, "|"):
				columns = 0
			case columns == 0:
				columns = n
			case n != columns:
				t.Errorf("%s: a row of %d cells in a table of %d: %q", name, n-1, columns-1, line)
			}
		}
	}
}

func TestHostileTextIsNoFormula(t *testing.T) {
	all := hostileOutputs(t)
	for _, name := range []string{"csv", "compared csv"} {
		rows, err := csv.NewReader(strings.NewReader(all[name])).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			for _, c := range row {
				if c != "" && strings.ContainsRune("=+-@\t\r", rune(c[0])) {
					t.Errorf("%s: a cell begins with %.20q", name, c)
				}
			}
		}
	}
}

func TestDocumentsAreNotChangedByBeingShown(t *testing.T) {
	_, s := hostileRun()
	before := s.Warnings[0]
	_ = allVisible(s)
	if s.Warnings[0] != before {
		t.Error("the warning was changed")
	}
	if shown := allVisible(everything()); !reflect.DeepEqual(shown, everything()) {
		t.Errorf("a harmless one became %+v", shown)
	}
}
