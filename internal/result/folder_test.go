package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
)

// fill sets every field of a value, and what it holds, to something that is not zero.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 20, 10, 0, 0, *n, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(fmt.Sprint("key", *n)), value)
	case reflect.String, reflect.Interface:
		v.Set(reflect.ValueOf(fmt.Sprint("text", *n)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.125)
	default:
		v.Set(reflect.ValueOf(*n).Convert(v.Type()))
	}
}

func filled[T any](start int) (v T) {
	fill(reflect.ValueOf(&v).Elem(), &start)
	return v
}

func someRun() Run {
	r := filled[Run](0)
	r.Version = Version
	return r
}

// folder is a run's folder with the given intervals and two events.
func folder(t *testing.T, intervals ...Interval) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "results", "run")
	if err := Prepare(path, time.Minute); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path, someRun())
	if err != nil {
		t.Fatal(err)
	}
	if f.Path() != path {
		t.Errorf("the folder is %s, not %s", f.Path(), path)
	}
	for _, iv := range intervals {
		if err := f.Interval(iv); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		if err := f.Event(filled[Event](i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func readIntervals(t *testing.T, path string) (out []Interval, truncated bool) {
	t.Helper()
	truncated, err := ReadIntervals(path, func(iv Interval) error { out = append(out, iv); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out, truncated
}

func TestFolderGivesBackEveryField(t *testing.T) {
	want := []Interval{filled[Interval](1), filled[Interval](1000), {Phase: -1}}
	path := folder(t, want...)
	if run, err := ReadRun(path); err != nil || !reflect.DeepEqual(run, someRun()) {
		t.Errorf("run is %+v (%v), want %+v", run, err, someRun())
	}
	if got, truncated := readIntervals(t, path); truncated || !reflect.DeepEqual(got, want) {
		t.Errorf("intervals are %+v, want %+v", got, want)
	}
	if got, err := ReadEvents(path); err != nil || !reflect.DeepEqual(got, []Event{filled[Event](0), filled[Event](1)}) {
		t.Errorf("events are %+v (%v)", got, err)
	}
}

func TestSummaryGivesBackEveryField(t *testing.T) {
	path, want := filepath.Join(t.TempDir(), SummaryFile), filled[Summary](1)
	if err := WriteJSON(path, want); err != nil {
		t.Fatal(err)
	}
	if got := readJSON[Summary](t, path); !reflect.DeepEqual(got, want) {
		t.Errorf("summary is %+v, want %+v", got, want)
	}
}

func readJSON[T any](t *testing.T, path string) (v T) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestNoEventsAreAnEmptyList(t *testing.T) {
	path := folder(t)
	write(t, filepath.Join(path, EventsFile), "")
	if got, err := ReadEvents(path); err != nil || got == nil || len(got) != 0 {
		t.Errorf("events are %#v (%v)", got, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLastLineCutAnywhereIsPassedOver cuts the file after every byte of its last line.
func TestLastLineCutAnywhereIsPassedOver(t *testing.T) {
	first, second := filled[Interval](1), Interval{FromS: 1, ToS: 2}
	path := folder(t, first, second)
	file := filepath.Join(path, IntervalsFile)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	start := strings.Index(string(whole), "\n") + 1
	for n := start; n <= len(whole); n++ {
		write(t, file, string(whole[:n]))
		got, truncated := readIntervals(t, path)
		lines := 1
		if n == len(whole) {
			lines = 2
		}
		if cut := n != start && n != len(whole); len(got) != lines || truncated != cut {
			t.Errorf("cut after %d of %d bytes: %d lines, truncated=%v", n-start, len(whole)-start, len(got), truncated)
		}
	}
	write(t, filepath.Join(path, EventsFile), `{"at_s":1,"message":"a"}`+"\n"+`{"at_s":2,"mes`)
	if got, err := ReadEvents(path); err != nil || len(got) != 1 {
		t.Errorf("events are %+v (%v), want the whole one", got, err)
	}
}

func TestBrokenLineInTheMiddleIsAnErrorWithItsNumber(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"cut", "{\"from_s\":1}\n{\"from_s\":\n{\"from_s\":3}\n"},
		{"wrong type", "{\"from_s\":1}\n{\"from_s\":\"x\"}\n{\"from_s\":3}\n"},
		{"two glued together", "{\"from_s\":1}\n{\"from_s\":2{\"from_s\":3}\n"},
		{"the last, but whole", "{\"from_s\":1}\n{\"from_s\":2]\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := folder(t)
			write(t, filepath.Join(path, IntervalsFile), tt.text)
			n := 0
			_, err := ReadIntervals(path, func(Interval) error { n++; return nil })
			if err == nil || !strings.Contains(err.Error(), IntervalsFile+" line 2: ") || n != 1 {
				t.Errorf("after %d lines: %v", n, err)
			}
			write(t, filepath.Join(path, EventsFile), strings.ReplaceAll(tt.text, "from_s", "at_s"))
			if _, err := ReadEvents(path); err == nil || !strings.Contains(err.Error(), EventsFile+" line 2: ") {
				t.Errorf("events: %v", err)
			}
		})
	}
}

func TestReadersErrorNamesTheLine(t *testing.T) {
	path, stop := folder(t, Interval{}, Interval{}), errors.New("stop")
	n := 0
	_, err := ReadIntervals(path, func(Interval) error {
		if n++; n == 2 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error is %v", err)
	}
}

func TestFolderOfARunIsNotWrittenAgain(t *testing.T) {
	path := folder(t, Interval{ToS: 1})
	if err := Prepare(path, time.Minute); !errors.Is(err, ErrExists) {
		t.Errorf("Prepare says %v", err)
	}
	if got, _ := readIntervals(t, path); len(got) != 1 {
		t.Errorf("%d intervals are left of 1", len(got))
	}
}

func TestFolderThatCannotBeWrittenIsToldBeforeTheRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	for _, path := range []string{file, filepath.Join(file, "run"), filepath.Join(file, "a", "b")} {
		if err := Prepare(path, time.Minute); err == nil || !strings.HasPrefix(err.Error(), "write results: ") {
			t.Errorf("Prepare(%s) says %v", path, err)
		}
		if _, err := Create(path, someRun()); err == nil {
			t.Errorf("Create(%s) made a folder", path)
		}
	}
}

func TestPrepareLeavesNothingInTheFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // a folder that is there already is fine
		if err := Prepare(path, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
		t.Errorf("left are %v (%v)", left, err)
	}
}

func TestRunsThatCannotBeReadSayWhy(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"newer", `{"version": 2}`, "format is version 2, this rankbench reads up to 1"},
		{"not JSON", "version: 1", "run.json: invalid character"},
		{"cut", `{"version": 1, "scen`, "unexpected end of JSON input"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := t.TempDir()
			write(t, filepath.Join(path, RunFile), tt.text)
			if _, err := ReadRun(path); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error is %v", err)
			}
		})
	}
	if _, err := ReadRun(t.TempDir()); err == nil || !strings.Contains(err.Error(), "there is no run.json in it") {
		t.Errorf("error of an empty folder is %v", err)
	}
	if _, err := ReadIntervals(t.TempDir(), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error of a folder without intervals is %v", err)
	}
}

func TestFailedWriteLeavesTheOldDocument(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.json")
	if err := WriteJSON(path, map[string]int{"n": 1}); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(path, map[string]float64{"n": math.NaN()}); err == nil {
		t.Error("NaN was written")
	}
	if got := readJSON[map[string]int](t, path); got["n"] != 1 {
		t.Errorf("the document is %v", got)
	}
	checkNoTemporary(t, filepath.Dir(path))
}

func TestDocumentThatCannotTakeItsPlaceLeavesNoTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "doc.json")
	if err := os.MkdirAll(filepath.Join(path, "not empty"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(path, 1); err == nil {
		t.Error("a folder was replaced by a document")
	}
	checkNoTemporary(t, dir)
}

func checkNoTemporary(t *testing.T, dir string) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(dir, "*.tmp")); err != nil || len(left) > 0 {
		t.Errorf("left are %v (%v)", left, err)
	}
}

// TestDocumentIsReplacedNotOverwritten: whoever reads the old document, here
// through a link to it, must not see a piece of the new one.
func TestDocumentIsReplacedNotOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.json")
	old := path + ".old"
	if err := WriteJSON(path, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, old); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(path, 2); err != nil {
		t.Fatal(err)
	}
	if was, is := readJSON[int](t, old), readJSON[int](t, path); was != 1 || is != 2 {
		t.Errorf("the old document is %d, the new one %d", was, is)
	}
	checkNoTemporary(t, filepath.Dir(path))
}

func TestJSONDoesNothingToATerminalAndIsReadBackAsItWas(t *testing.T) {
	text := "\x1b[2J \u009b31m \x7f \\\u009b \\u009b \u202e <= ä"
	var b bytes.Buffer
	if err := EncodeJSON(&b, map[string]string{text: text}); err != nil {
		t.Fatal(err)
	}
	if i := bytes.IndexFunc(b.Bytes(), func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); i >= 0 {
		t.Errorf("a control character: %q", b.Bytes()[i:])
	}
	if !bytes.Contains(b.Bytes(), []byte("<= ä")) {
		t.Errorf("%s", b.Bytes())
	}
	var back map[string]string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back[text] != text {
		t.Errorf("read back as %q: %v", back, err)
	}
}
