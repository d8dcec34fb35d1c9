package page

import (
	_ "embed" // the live page's script
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/analyze"
	"github.com/rankbench/rankbench/internal/result"
)

//go:embed assets/live.js
var liveJS string

// LiveHTML writes the page that shows a run while it goes on. It asks "stream",
// beside itself, for server-sent events, each with JSON as its data:
//
//	model   a Model: all that there is so far
//	tail    a Tail: what is new since the last model or tail
//	status  how far the run is (progress.Status)
//	end     an Ended: nothing comes any more
func LiveHTML(w io.Writer, run result.Run) error {
	sum := result.Summary{Scenario: run.Scenario, Started: run.Started}
	h := newHead(run, sum)
	h.Sub = slices.Delete(h.Sub, lengthInSub, lengthInSub+1) // its progress says it
	h.Facts = slices.DeleteFunc(h.Facts, func(f fact) bool { return f.Name == clientLoadFact })
	return write(w, document{
		Live: true, Head: h, Model: "null", Scripts: []template.JS{template.JS(pageJS), template.JS(liveJS)},
		Style: template.CSS(pageCSS), Policy: policy(pageCSS, pageJS, liveJS) + "; connect-src 'self'",
		Parts: append(partKeys([]Shade{{Part: serviceShade}, {Part: pausedShade}}), partKey{outageShade, "outage, not divided (yet)"}),
	})
}

// Ended is what the live page says when the run is over.
type Ended struct {
	State    string   `json:"state"`
	Cards    []card   `json:"cards"`
	Faults   []string `json:"faults"`
	Warnings []string `json:"warnings"`
	More     bool     `json:"more"` // another run of the series follows
}

// NewEnded returns what is said of a run with such a summary.
func NewEnded(run result.Run, sum result.Summary, more bool) Ended {
	h := newHead(run, sum)
	e := Ended{State: "Finished: " + strings.ToUpper(h.Verdict), Cards: h.Cards, Faults: append([]string{}, h.Faults...), Warnings: append([]string{}, h.Warnings...), More: more}
	switch {
	case h.Broken != "":
		e.State = h.Broken
	case sum.Verdict == analyze.None:
		e.State = "Finished; the scenario sets no limits"
	}
	return e
}
