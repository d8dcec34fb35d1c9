// Package page makes one HTML file of a run's folder: the verdict and the numbers
// that matter, and below them lanes on one time axis, with tables behind them; or of
// a comparison of runs (compare.go), with bars. It opens from disk, asks for nothing
// over the network, and takes any text of the folder for hostile. It knows no socket:
// whoever shows a run while it goes on (the live page) feeds the same Builder and
// hands its Model to the same script.
//
//  1. A Builder is fed the lines of the run in order, and keeps counts by tenth of
//     a second (counts.go), latencies by interval, and samples by node (nodes.go).
//  2. Its Model is what the script draws: lanes of panels and strips, down-sampled
//     to a number of points that keeps the extremes (series.go), with the outages
//     as spans (shade.go). A step of the grid never moves: a later Model of the same
//     length differs in its last points only.
//  3. HTML puts the model as JSON into the page, with the head (head.go) and a table
//     for each lane (tables.go), which are there without JavaScript, too.
//  4. assets/page.js draws a model. Of the live page, assets/live.js joins what is new
//     (tail.go) to the model and has it drawn again (live.go).
package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's template, style and script
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/rankbench/rankbench/internal/analyze"
	"github.com/rankbench/rankbench/internal/legible"
	"github.com/rankbench/rankbench/internal/report"
	"github.com/rankbench/rankbench/internal/result"
)

//go:embed assets/page.html
var pageHTML string

//go:embed assets/page.css
var pageCSS string

//go:embed assets/page.js
var pageJS string

// document is what the template is given.
type document struct {
	Live    bool
	Head    head
	Lanes   []laneView
	Events  []eventRow
	Parts   []partKey
	Model   template.JS
	Scripts []template.JS
	Style   template.CSS
	Policy  string
}

// laneView is a lane with the table behind it.
type laneView struct {
	Lane  Lane
	Table table
}

// eventRow is a line of the table of events.
type eventRow struct {
	Mark
	Clock string
}

// HTML writes the page of a run's folder, also of an interrupted or killed run.
func HTML(w io.Writer, folder string) error {
	run, err := result.ReadRun(folder)
	if err != nil {
		return err
	}
	sum, err := report.Summarize(folder)
	if err != nil {
		return err
	}
	b, err := read(folder, run)
	if err != nil {
		return err
	}
	doc, err := newDocument(newHead(run, sum), b.Model(sum))
	if err != nil {
		return err
	}
	return write(w, doc)
}

// read feeds a folder to a Builder, up to a line that is damaged: the summary
// warns of it.
func read(folder string, run result.Run) (*Builder, error) {
	names := analyze.NewNames()
	if err := intervals(folder, names.Learn); err != nil {
		return nil, err
	}
	b := NewBuilder(run)
	err := intervals(folder, func(iv result.Interval) error {
		names.Apply(&iv)
		return b.Interval(iv)
	})
	if err != nil {
		return nil, err
	}
	events, _ := result.ReadEvents(folder) // those up to a damaged line
	for _, e := range events {
		b.Event(e)
	}
	return b, nil
}

func intervals(folder string, each func(result.Interval) error) error {
	_, err := result.ReadIntervals(folder, each)
	if errors.Is(err, result.ErrDamaged) {
		return nil
	}
	return err
}

// newDocument is a page with all its pictures and tables.
func newDocument(h head, m Model) (document, error) {
	data, err := json.Marshal(m) // escapes <, > and &: no </script> comes through
	if err != nil {
		return document{}, fmt.Errorf("write page: %w", err)
	}
	doc := document{
		Head: h, Model: template.JS(data), Scripts: []template.JS{template.JS(pageJS)}, Style: template.CSS(pageCSS),
		Policy: policy(pageCSS, pageJS), Parts: partKeys(m.Shades),
	}
	for _, e := range m.Events {
		doc.Events = append(doc.Events, eventRow{e, legible.Clock(e.AtS)})
	}
	for _, l := range m.Lanes {
		doc.Lanes = append(doc.Lanes, laneView{l, tableOf(l)})
	}
	return doc, nil
}

// write fills the template. Nothing is written unless all of it could be made.
func write(w io.Writer, doc document) error {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	var page bytes.Buffer
	if err := t.Execute(&page, doc); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if _, err := page.WriteTo(w); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// policy is the page's Content-Security-Policy: nothing is loaded, and only our
// own scripts and style run, whatever a text of the run might have smuggled in.
func policy(style string, scripts ...string) string {
	var hashes []string
	for _, s := range scripts {
		hashes = append(hashes, hash(s))
	}
	return fmt.Sprintf("default-src 'none'; img-src data:; script-src %s; style-src %s", strings.Join(hashes, " "), hash(style))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
