package result

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"
	"unicode/utf8"
)

// The files of a run's folder.
const (
	RunFile       = "run.json"
	IntervalsFile = "intervals.ndjson"
	EventsFile    = "events.ndjson"
	SummaryFile   = "summary.json"
)

// Folder is a run's folder that is being written. Each line is handed to the
// operating system in one write when it is appended, so that a process killed
// at any moment loses none but the one it had not yet cut. It is for one
// goroutine.
type Folder struct {
	path      string
	intervals *lineFile
	events    *lineFile
}

// lineFile is a file of whole lines: one that could not be written to its end
// (a full disk) is taken back, so that later ones do not run into it, and waits.
type lineFile struct {
	*os.File
	size    int64
	waiting [][]byte
	bytes   int // of those that wait
}

// ErrLater says that a line could not be written, and will be with one of the next
// or at the end: a hole in the middle would look like an outage.
var ErrLater = errors.New("what was seen is kept in memory until it can be written")

// maxWaiting bounds the lines that wait, bytes: hours of them.
const maxWaiting = 256 << 20

// ErrExists says that the folder holds a run already.
var ErrExists = errors.New("the folder holds a run already")

// Prepare makes the folder, and makes sure that a run of this length can be
// written into it: what is wrong with the disk is told before the load, not after it.
func Prepare(path string, length time.Duration) error {
	if _, err := os.Stat(filepath.Join(path, RunFile)); err == nil {
		return fmt.Errorf("write results to %s: %w", path, ErrExists)
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	if err := checkRoom(path); err != nil {
		return err
	}
	need := uint64(length.Seconds() * lineBytes)
	if free, known := freeBytes(path); known && free < need {
		return fmt.Errorf("write results to %s: a run of %s takes about %d MB, and %d MB are free", path, length, need>>20, free>>20)
	}
	return nil
}

// lineBytes is what a second of a run takes on disk at most: 7 kB were measured
// with four operations and three nodes.
const lineBytes = 16 << 10

// Create begins a run in a folder that Prepare has made: it writes run.json
// and opens the others.
func Create(path string, run Run) (*Folder, error) {
	f := &Folder{path: path}
	var err error
	if f.intervals, err = appendFile(path, IntervalsFile); err != nil {
		return nil, err
	}
	if f.events, err = appendFile(path, EventsFile); err != nil {
		return nil, errors.Join(err, f.intervals.Close())
	}
	if err := WriteJSON(filepath.Join(path, RunFile), run); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// room is what is written for a trial, bytes: a disk may say that it has room
// and yet take nothing (a quota).
const room = 4 << 20

func checkRoom(path string) error {
	tmp, err := os.CreateTemp(path, ".room-*")
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	_, err = tmp.Write(make([]byte, room))
	err = errors.Join(err, tmp.Close(), os.Remove(tmp.Name()))
	if err != nil {
		return fmt.Errorf("write results to %s: no room for %d MB: %w", path, room>>20, err)
	}
	return nil
}

func appendFile(path, name string) (*lineFile, error) {
	f, err := os.OpenFile(filepath.Join(path, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("write results: %w", err)
	}
	return &lineFile{File: f}, nil
}

// Path is the folder's path.
func (f *Folder) Path() string { return f.path }

// Interval appends a line to intervals.ndjson.
func (f *Folder) Interval(iv Interval) error { return f.intervals.append(iv) }

// Event appends a line to events.ndjson.
func (f *Folder) Event(e Event) error { return f.events.append(e) }

func (f *lineFile) append(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(f.Name()), err)
	}
	if f.bytes+len(line) > maxWaiting && f.flush() != nil {
		return fmt.Errorf("write results: %s: %d MB wait already", filepath.Base(f.Name()), maxWaiting>>20)
	}
	f.waiting, f.bytes = append(f.waiting, append(line, '\n')), f.bytes+len(line)+1
	if err := f.flush(); err != nil {
		return fmt.Errorf("%w; %w", err, ErrLater)
	}
	return nil
}

// flush writes the lines that wait, as far as it can.
func (f *lineFile) flush() error {
	for len(f.waiting) > 0 {
		n, err := f.Write(f.waiting[0])
		if err != nil {
			return errors.Join(fmt.Errorf("write results: %w", err), f.Truncate(f.size))
		}
		f.size, f.bytes = f.size+int64(n), f.bytes-n
		f.waiting = f.waiting[1:]
	}
	return nil
}

// Close writes what waits, and closes the file.
func (f *lineFile) Close() error { return errors.Join(f.flush(), f.File.Close()) }

// Close closes the files.
func (f *Folder) Close() error { return errors.Join(f.intervals.Close(), f.events.Close()) }

// EncodeJSON writes a document as indented JSON, with "<=" as people write it. It may
// go to a terminal: control characters of one byte JSON escapes anyway, those of two
// (C1 and DEL) are escaped here.
func EncodeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(controls.ReplaceAllFunc(b.Bytes(), func(c []byte) []byte {
		r, _ := utf8.DecodeRune(c)
		return fmt.Appendf(nil, `\u%04x`, r)
	}))
	return err
}

// controls can stand in JSON's strings only.
var controls = regexp.MustCompile("[\u007f-\u009f]")

// WriteJSON writes a document as indented JSON, whole or not at all.
func WriteJSON(path string, v any) error {
	var b bytes.Buffer
	if err := EncodeJSON(&b, v); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return WriteFile(path, b.Bytes())
}

// WriteFile writes a file whole or not at all: to a temporary one beside it first.
func WriteFile(path string, data []byte) error {
	tmp := path + ".tmp"
	err := os.WriteFile(tmp, data, 0o644)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// ReadRun reads run.json of a folder.
func ReadRun(path string) (Run, error) {
	var r Run
	b, err := os.ReadFile(filepath.Join(path, RunFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("read run %s: there is no %s in it", path, RunFile)
	}
	if err != nil {
		return r, fmt.Errorf("read run: %w", err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("read run %s: %s: %w", path, RunFile, err)
	}
	if r.Version < 1 {
		return r, fmt.Errorf("read run %s: %s has no version: it is not one of rankbench", path, RunFile)
	}
	if r.Version > Version {
		return r, fmt.Errorf("read run %s: its format is version %d, this rankbench reads up to %d", path, r.Version, Version)
	}
	return r, nil
}

// ReadIntervals calls each for every line of intervals.ndjson, in order.
// Truncated says that the last line is not whole, as a killed run or a full
// disk leaves it; it is passed over.
func ReadIntervals(path string, each func(Interval) error) (truncated bool, err error) {
	return readLines(filepath.Join(path, IntervalsFile), func(line []byte) error {
		var iv Interval
		if err := json.Unmarshal(line, &iv); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		return each(iv)
	})
}

// ErrDamaged says that a line cannot be read: what came before it was.
var ErrDamaged = errors.New("the line is damaged")

// ReadEvents returns the lines of events.ndjson, in order, up to one that is damaged.
func ReadEvents(path string) ([]Event, error) {
	events := []Event{}
	_, err := readLines(filepath.Join(path, EventsFile), func(line []byte) error {
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		events = append(events, e)
		return nil
	})
	return events, err
}

func readLines(path string, each func([]byte) error) (truncated bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("read run: %w", err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return len(bytes.TrimSpace(line)) > 0, nil
		}
		if err != nil {
			return false, fmt.Errorf("read run: %w", err)
		}
		if err := each(line); err != nil {
			return false, fmt.Errorf("read %s line %d: %w", path, n, err)
		}
	}
}
