package page

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rankbench/rankbench/internal/result"
)

// The folders in testdata are of real drills on servers of the same host:
// failover has all four operations, client-part an outage of which a third is the
// client's. Their intervals are compressed.
const (
	failoverRun   = "failover"
	clientPartRun = "client-part"
)

// folderOf unpacks a folder of testdata.
func folderOf(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range []string{result.RunFile, result.EventsFile} {
		b, err := os.ReadFile(filepath.Join("testdata", name, file))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, file), b, 0o644))
	}
	packed, err := os.Open(filepath.Join("testdata", name, result.IntervalsFile+".gz"))
	must(t, err)
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	must(t, err)
	b, err := io.ReadAll(z)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, result.IntervalsFile), b, 0o644))
	return dir
}

// pageOf makes the page of a folder.
func pageOf(t *testing.T, folder string) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, HTML(&b, folder))
	return b.Bytes()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// made is a folder that a test makes up.
type made struct {
	seconds, nodes int
	ops            []string
	scenario       string
	class          string
	words          string // of the event and the warning
}

func (m made) run() result.Run {
	return result.Run{
		Version: 1, Command: "drill", Scenario: m.scenario, Source: "name: " + m.words, ReadFrom: "replica", IntervalS: 1, OutageThresholdS: 0.5,
		Started: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), Warnings: []string{m.words}, Versions: map[string]string{"server": m.words},
		Config: map[string]any{"target": map[string]any{"mode": m.words}},
		Phases: []result.RunPhase{{Name: m.scenario, DurationS: float64(m.seconds), Ops: m.ops}},
	}
}

func (m made) events() []result.Event {
	var out []result.Event
	for s := 0; s < m.seconds; s += max(1, m.seconds/10) {
		out = append(out, result.Event{AtS: float64(s), Source: "elasticache", Subject: m.scenario, Message: m.words, Kind: result.NewPrimary})
	}
	return out
}

// intervals calls each with a run in which every operation fails for 20 s in the middle.
func (m made) intervals(t *testing.T, each func(result.Interval) error) {
	t.Helper()
	text := histogramText(t)
	for s := range m.seconds {
		must(t, each(m.interval(s, text)))
	}
	must(t, each(result.Interval{FromS: float64(m.seconds), ToS: float64(m.seconds), Phase: -1, End: &result.RunEnd{}}))
}

// write writes the run into a folder.
func (m made) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	f, err := result.Create(dir, m.run())
	must(t, err)
	m.intervals(t, f.Interval)
	for _, e := range m.events() {
		must(t, f.Event(e))
	}
	must(t, f.Close())
	return dir
}

func (m made) interval(s int, histogram string) result.Interval {
	iv := result.Interval{FromS: float64(s), ToS: float64(s + 1)}
	if s == 0 {
		iv.Mark = &result.PhaseBoundary{Begin: true, MeasuredFromS: 0, MeasuredToS: float64(m.seconds)}
	}
	if s == m.seconds-1 {
		iv.Mark = &result.PhaseBoundary{End: true, MeasuredFromS: 0, MeasuredToS: float64(m.seconds)}
	}
	out := s >= m.seconds/2 && s < m.seconds/2+20
	for i, op := range m.ops {
		c := result.Cell{Op: op, OK: 100, Service: histogram, ServiceSumUS: 1e5, ServiceMaxUS: float64(2000 + s%977), OKAt: result.Series{From: uint64(s) * 100}}
		for b := range 10 {
			c.OKAt.N = append(c.OKAt.N, uint32(b+i+s%13))
		}
		if out {
			c = result.Cell{Op: op, Errors: map[string]result.Failure{m.class: {N: 7, At: [][2]uint64{{uint64(s) * 100, 7}}}}}
		}
		iv.Cells = append(iv.Cells, c)
	}
	for n := range m.nodes {
		iv.Nodes = append(iv.Nodes, result.NodeSample{
			AtS: float64(s) + 0.9, ID: m.scenario + string(rune('a'+n)), Addr: "127.0.0.1:700" + itoa(n), Up: true, Role: []string{"primary", "replica"}[min(n, 1)], RunID: "r",
			CPUSeconds: float64(s)*0.3137 + float64(s%7)*0.05, NetInBytes: uint64(s * 1234567), NetOutBytes: uint64(s*7654321 + s%3*1234567),
			Commands: map[string]uint64{"zadd": uint64(s * 1000), "zscore": uint64(s * 2000)},
		})
	}
	return iv
}

func histogramText(t *testing.T) string {
	t.Helper()
	h := hdr.New(1, 60_000_000, 2)
	for us := int64(300); us < 2000; us += 17 {
		must(t, h.RecordValue(us))
	}
	text, err := result.EncodeHistogram(h)
	must(t, err)
	return text
}
