package keep

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func sampleRecords() []record {
	return []record{
		{key: []byte("ranking"), value: []byte(strings.Repeat("\x00\xff", 100_000))},
		{db: 15, ttl: 1, key: []byte("\x00\r\n\xff{}"), value: []byte("K")},
		{ttl: math.MaxInt64, key: []byte{}, value: []byte("E")},
	}
}

func written(t *testing.T, records []record) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := newWriter(&b)
	for _, r := range records {
		err = errors.Join(err, w.put(r))
	}
	if err := errors.Join(err, w.end()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readAll(data []byte) (all []record, err error) {
	r, err := newReader(bytes.NewReader(data))
	for err == nil {
		var k record
		if k, err = r.next(); err == nil {
			all = append(all, k)
		}
	}
	return all, err
}

func TestKeysComeBackAsTheyWereWritten(t *testing.T) {
	for _, want := range [][]record{nil, sampleRecords()} {
		data := written(t, want)
		if err := check(bytes.NewReader(data)); err != nil {
			t.Error(err)
		}
		got, err := readAll(data)
		if !errors.Is(err, io.EOF) || !reflect.DeepEqual(got, want) {
			t.Errorf("%d records (%v), want %d", len(got), err, len(want))
		}
	}
}

func TestATruncatedFileIsRefused(t *testing.T) {
	data := written(t, sampleRecords()[1:])
	for n := range data {
		if check(bytes.NewReader(data[:n])) == nil {
			t.Errorf("the first %d of %d bytes pass", n, len(data))
		}
		if _, err := readAll(data[:n]); errors.Is(err, io.EOF) && n < len(data)-32 {
			t.Errorf("the first %d of %d bytes are read to an end", n, len(data))
		}
	}
	if check(bytes.NewReader(append(data, 0))) == nil {
		t.Error("one byte more passes")
	}
}

func TestAFlippedBitIsFound(t *testing.T) {
	data := written(t, sampleRecords()[1:])
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			if check(bytes.NewReader(data)) == nil {
				t.Errorf("bit %d of byte %d", bit, i)
			}
			data[i] ^= 1 << bit
		}
	}
}

func TestAValueThatRestoreWouldNotTakeIsNotKept(t *testing.T) {
	w, err := newWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	err = w.put(record{key: []byte("ranking"), value: make([]byte, valueMost+1)})
	if err == nil || !strings.Contains(err.Error(), `"ranking" takes 536870913 bytes`) || w.n != 0 {
		t.Errorf("%v and %d keys", err, w.n)
	}
}

func TestNoTimeLeftIsNotNoLimit(t *testing.T) {
	for left, want := range map[time.Duration]uint64{-1: 0, -2: 0, 0: 1, time.Millisecond: 1, time.Minute: 60_000} {
		if got := milliseconds(left); got != want {
			t.Errorf("PTTL %d: %d, want %d", left, got, want)
		}
	}
}

func TestOpenTellsNothingFromBroken(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); !errors.Is(err, ErrNone) || Exists(dir) {
		t.Errorf("empty folder: %v, want ErrNone", err)
	}
	for text, want := range map[string]string{
		"{": "groups.json", `{"version": 2}`: "has version 2", `{"version": 1}`: "names no group",
		`{"version": 1, "groups": [{"id": "lb", "file": "../../lb-1.keys"}]}`: filepath.Join(dir, "lb-1.keys"),
	} {
		if err := os.WriteFile(filepath.Join(dir, listFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); err == nil || errors.Is(err, ErrNone) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
