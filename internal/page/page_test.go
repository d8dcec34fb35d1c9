package page

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rankbench/rankbench/internal/result"
)

// parsed is a page as a browser reads it.
type parsed struct{ root *html.Node }

func parse(t *testing.T, page []byte) parsed {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	must(t, err)
	return parsed{root}
}

// all are the elements of a name; "" is all of them.
func (p parsed) all(name string) []*html.Node {
	var out []*html.Node
	for n := range p.root.Descendants() {
		if n.Type == html.ElementNode && (name == "" || n.Data == name) {
			out = append(out, n)
		}
	}
	return out
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// model is the JSON in the page.
func (p parsed) model(t *testing.T) Model {
	t.Helper()
	for _, s := range p.all("script") {
		if attr(s, "id") == "model" {
			var raw struct {
				FromS  float64 `json:"from_s"`
				ToS    float64 `json:"to_s"`
				Lanes  []Lane  `json:"lanes"`
				Shades []Shade `json:"shades"`
				Events []Mark  `json:"events"`
			}
			must(t, json.Unmarshal([]byte(textOf(s)), &raw))
			return Model{FromS: raw.FromS, ToS: raw.ToS, Lanes: raw.Lanes, Shades: raw.Shades, Events: raw.Events}
		}
	}
	t.Fatal("the page holds no model")
	return Model{}
}

// bothPages are the page of a folder, and that of the same run while it goes on.
func bothPages(t *testing.T, test func(t *testing.T, page []byte)) {
	t.Helper()
	folder := folderOf(t, failoverRun)
	t.Run("report", func(t *testing.T) { test(t, pageOf(t, folder)) })
	t.Run("live", func(t *testing.T) {
		run, err := result.ReadRun(folder)
		must(t, err)
		test(t, liveOf(t, run))
	})
}

func liveOf(t *testing.T, run result.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, LiveHTML(&b, run))
	return b.Bytes()
}

func TestPageIsOneFile(t *testing.T) { bothPages(t, checkOneFile) }

func checkOneFile(t *testing.T, page []byte) {
	p := parse(t, page)
	for _, n := range p.all("") {
		for _, a := range n.Attr {
			switch a.Key {
			case "src", "srcset", "action", "data", "poster", "formaction", "background", "manifest":
				t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			case "href":
				if !strings.HasPrefix(a.Val, "#") && a.Val != "data:," {
					t.Errorf("<%s> leads to %q", n.Data, a.Val)
				}
			case "style":
				t.Errorf("<%s> has a style of its own, which the policy forbids", n.Data)
			}
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s> has a handler %s", n.Data, a.Key)
			}
		}
	}
	if found := regexp.MustCompile(`(?i)(\bhttps?:|\bwss?:|//[a-z]+\.|@import|url\([^#])[^ ]*`).FindAllString(string(page), -1); len(found) > 0 {
		t.Errorf("the page names addresses: %q", found)
	}
	for _, call := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "XMLHttpRequest", "localStorage"} {
		if strings.Contains(pageJS+liveJS, call) {
			t.Errorf("a script uses %s", call)
		}
	}
}

func TestPolicyAllowsThePagesOwnScriptsAlone(t *testing.T) {
	bothPages(t, func(t *testing.T, page []byte) {
		p, policy := parse(t, page), ""
		for _, m := range p.all("meta") {
			if attr(m, "http-equiv") == "Content-Security-Policy" {
				policy = attr(m, "content")
			}
		}
		scripts := 0
		for _, s := range p.all("script") {
			if attr(s, "type") != "application/json" {
				scripts++
				if !strings.Contains(policy, hash(textOf(s))) {
					t.Errorf("a script of %d bytes is not in the policy %q", len(textOf(s)), policy)
				}
			}
		}
		if !strings.HasPrefix(policy, "default-src 'none'; ") || scripts == 0 || strings.Count(policy, "sha256-") != scripts+1 || strings.Contains(policy, "unsafe") {
			t.Errorf("%d scripts, and the policy %q", scripts, policy)
		}
	})
}

func TestPageIsAccessible(t *testing.T) { bothPages(t, checkAccessible) }

// speaks are roles of which the text is the name.
var speaks = map[string]bool{"": true, "alert": true, "status": true}

func checkAccessible(t *testing.T, page []byte) {
	p := parse(t, page)
	count := map[string]int{}
	ids := map[string]bool{}
	for _, n := range p.all("") {
		count[n.Data]++
		if id := attr(n, "id"); id != "" && ids[id] {
			t.Errorf("two elements have the id %s", id)
		}
		ids[attr(n, "id")] = true
	}
	for name, want := range map[string]int{"h1": 1, "main": 1, "header": 1, "title": 1} {
		if count[name] != want {
			t.Errorf("%d <%s>, want %d", count[name], name, want)
		}
	}
	if got := attr(p.all("html")[0], "lang"); got != "en" {
		t.Errorf("lang is %q", got)
	}
	for _, n := range p.all("") {
		named := attr(n, "aria-label") != "" || ids[attr(n, "aria-labelledby")] && attr(n, "aria-labelledby") != ""
		switch {
		case n.Data == "section" && !named, !speaks[attr(n, "role")] && !named, attr(n, "tabindex") != "" && !named:
			t.Errorf("<%s id=%s> has no label", n.Data, attr(n, "id"))
		case n.Data == "progress" && !named:
			t.Error("the progress has no label")
		case n.Data == "button" && !named && textOf(n) == "":
			t.Errorf("the button %s has no name", attr(n, "id"))
		case n.Data == "th" && attr(n, "scope") == "":
			t.Errorf("<th>%s has no scope", textOf(n))
		}
	}
}

func TestEveryLaneHasAPictureAndATable(t *testing.T) {
	p := parse(t, pageOf(t, folderOf(t, failoverRun)))
	var got []string
	for _, f := range p.all("figure") {
		got = append(got, attr(f, "data-lane"))
		fig := parsed{f}
		if rows := fig.all("tr"); len(rows) < 2 || len(fig.all("table")) != 1 {
			t.Errorf("lane %s has no table", attr(f, "data-lane"))
		}
		if len(fig.all("details")) != 1 || len(fig.all("h3")) != 1 {
			t.Errorf("lane %s has no title, or its table is not folded away", attr(f, "data-lane"))
		}
	}
	want := "course rps errors latency-0 latency-1 latency-2 latency-3 node-0 node-1 node-2"
	if strings.Join(got, " ") != want {
		t.Errorf("lanes are %v, want %s", got, want)
	}
	if m := p.model(t); len(m.Lanes) != len(got) || len(m.Events) != 18 || len(m.Shades) != 2 {
		t.Errorf("the model has %d lanes, %d events, shades %v", len(m.Lanes), len(m.Events), m.Shades)
	}
}

func TestHeadSaysWhatMatters(t *testing.T) {
	text := textOf(parse(t, pageOf(t, folderOf(t, failoverRun))).all("main")[0])
	for _, want := range []string{
		"2.28 s", "set = service 2.17 s + client 0.11 s", // outage
		"of 463,717 acknowledged",  // lost writes
		"6,246", "6,714", "10,495", // RPS of set
		"7.1 ms", "5.34 ms", "3.52 ms", // p99 of set
		"1 primary + 2 replicas", "tuned", // conditions
		"Test Failover API called for node group 0001",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestEndOfALiveRunSaysWhatBecameOfIt(t *testing.T) {
	for _, c := range []struct {
		name string
		sum  result.Summary
		want string
	}{
		{"limits met", result.Summary{Complete: true, Verdict: "pass"}, "Finished: PASS"},
		{"no limits", result.Summary{Complete: true, Verdict: "none"}, "Finished; the scenario sets no limits"},
		{"not known", result.Summary{Complete: true, Verdict: "incomplete"}, "Finished: INCOMPLETE"},
		{"interrupted", result.Summary{Complete: true, Interrupted: true, Verdict: "incomplete"}, "This run was interrupted: the figures are those up to then."},
	} {
		if e := NewEnded(made{}.run(), c.sum, false); e.State != c.want || len(e.Cards) != 4 || e.Faults == nil || e.Warnings == nil {
			t.Errorf("%s: %+v", c.name, e)
		}
	}
}

func TestPageOfABrokenRun(t *testing.T) {
	killed := func(t *testing.T, cut func([]byte) []byte) []byte {
		folder := folderOf(t, failoverRun)
		path := filepath.Join(folder, result.IntervalsFile)
		b, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, cut(b), 0o644))
		return pageOf(t, folder)
	}
	for _, row := range []struct {
		name string
		cut  func([]byte) []byte
	}{
		{"in the middle of a line", func(b []byte) []byte { return b[:len(b)*2/3] }},
		{"before the first interval", func([]byte) []byte { return nil }},
		{"with a damaged line", func(b []byte) []byte { return append(b[:bytes.IndexByte(b, '\n')+1], "{damaged}\n"...) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := parse(t, killed(t, row.cut))
			if text := textOf(p.all("main")[0]); !strings.Contains(text, "This run was killed") {
				t.Error("the page does not say that the run was killed")
			}
			p.model(t)
		})
	}
	if err := HTML(io.Discard, t.TempDir()); err == nil {
		t.Error("an empty folder gives a page")
	}
}

func TestHostileTextsDoNoHarm(t *testing.T) {
	for _, row := range []struct{ name, text string }{
		{"script", "<script>alert(1)</script>"},
		{"end of script", "</script><img src=x onerror=alert(1)>"},
		{"comment", "<!--<script>"},
		{"quotes", `"' onload="alert(1)`},
		{"template", "{{.}}${alert(1)}"},
		{"escape codes", "\x1b[2J\x1b]0;title\a\u202egnp.exe\u2028"},
		{"long", strings.Repeat("long ", 2048)},
		{"not UTF-8", "\xff\xfe<b>"},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := made{seconds: 60, nodes: 1, ops: []string{row.text}, scenario: row.text, class: row.text, words: row.text}
			page := pageOf(t, m.write(t))
			checkHarmless(t, page, 2)
			checkHarmless(t, liveOf(t, m.run()), 3)
			if len(page) > 400_000 {
				t.Errorf("the page is %d bytes", len(page))
			}
		})
	}
}

// checkHarmless holds a page against one of which all texts are plain.
func checkHarmless(t *testing.T, page []byte, scripts int) {
	t.Helper()
	p := parse(t, page)
	p.model(t)
	if n := len(p.all("script")); n != scripts {
		t.Errorf("%d scripts, want %d", n, scripts)
	}
	for _, name := range []string{"img", "iframe", "object", "b"} {
		if len(p.all(name)) > 0 {
			t.Errorf("the page has a <%s>", name)
		}
	}
	if bytes.ContainsAny(page, "\x1b\a\u202e\u2028") {
		t.Error("the page has control characters")
	}
	for _, n := range p.all("") {
		if n.Data != "script" && n.Data != "pre" && n.FirstChild != nil && n.FirstChild.Type == html.TextNode && n.Data != "style" && len(n.FirstChild.Data) > 1500 {
			t.Errorf("<%s> has a text of %d bytes", n.Data, len(n.FirstChild.Data))
		}
	}
}
