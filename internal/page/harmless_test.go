package page

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/result"
)

func TestComparisonIsOneFileWithoutScript(t *testing.T) {
	page := comparisonOf(t, compared(t, kinds["few"]()...))
	p := parse(t, page)
	ids := map[string]bool{}
	for _, n := range p.all("") {
		ids[attr(n, "id")] = true
	}
	for _, n := range p.all("") {
		for _, a := range n.Attr {
			switch {
			case slices.Contains([]string{"src", "srcset", "action", "data", "poster", "formaction", "background", "manifest", "style", "xlink:href"}, a.Key), strings.HasPrefix(a.Key, "on"):
				t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			case a.Key == "href" && a.Val != "data:," && (!strings.HasPrefix(a.Val, "#") || !ids[a.Val[1:]]):
				t.Errorf("<%s> leads to %q", n.Data, a.Val)
			}
		}
	}
	if found := regexp.MustCompile(`(?i)(\bhttps?:|\bwss?:|//[a-z]+\.|@import|url\([^#])[^ ]*`).FindAllString(string(page), -1); len(found) > 0 {
		t.Errorf("the page names addresses: %q", found)
	}
	if n := len(p.all("script")); n > 0 {
		t.Errorf("%d scripts", n)
	}
	policy := attr(p.all("meta")[1], "content")
	if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "script") || !strings.Contains(policy, hash(textOf(p.all("style")[0]))) {
		t.Errorf("the policy is %q", policy)
	}
}

func TestComparisonIsAccessible(t *testing.T) {
	table := compared(t, kinds["few"]()...)
	p := parse(t, comparisonOf(t, table))
	count, ids, level := map[string]int{}, map[string]bool{}, 0
	for _, n := range p.all("") {
		count[n.Data]++
		if id := attr(n, "id"); id != "" && ids[id] {
			t.Errorf("two elements have the id %s", id)
		}
		ids[attr(n, "id")] = true
		if regexp.MustCompile(`^h[1-6]$`).MatchString(n.Data) {
			next := int(n.Data[1] - '0')
			if next > level+1 || textOf(n) == "" {
				t.Errorf("<%s>%s follows <h%d>", n.Data, textOf(n), level)
			}
			level = next
		}
	}
	for _, name := range []string{"h1", "main", "header", "nav"} {
		if count[name] != 1 {
			t.Errorf("%d <%s>, want one", count[name], name)
		}
	}
	if lang, title := attr(p.all("html")[0], "lang"), textOf(p.all("title")[0]); lang != "en" || !strings.HasSuffix(title, ": rankbench") {
		t.Errorf("lang is %q, the title %q", lang, title)
	}
	for _, n := range p.all("") {
		named := attr(n, "aria-label") != "" || ids[attr(n, "aria-labelledby")] && attr(n, "aria-labelledby") != ""
		switch {
		case (n.Data == "section" || n.Data == "nav" || attr(n, "role") != "" || attr(n, "tabindex") != "") && !named:
			t.Errorf("<%s class=%s> has no label", n.Data, attr(n, "class"))
		case n.Data == "th" && attr(n, "scope") == "":
			t.Errorf("<th>%s has no scope", textOf(n))
		case attr(n, "tabindex") != "" && attr(n, "tabindex") != "0":
			t.Errorf("<%s> stands at %s in the order of the keyboard", n.Data, attr(n, "tabindex"))
		}
	}
	for _, r := range table.Rows {
		if c := p.chartOf(r); c != nil {
			checkSays(t, *c, table, r)
		}
	}
}

// checkSays holds the label of a chart to its figures.
func checkSays(t *testing.T, chart parsed, table compare.Table, r compare.Row) {
	t.Helper()
	bars := chart.ofClass("div", "bars")[0]
	if attr(bars, "role") != "img" {
		t.Errorf("the chart of %s is no picture", r.Name())
	}
	says := attr(bars, "aria-label")
	for i, c := range r.Cells {
		want := table.Groups[i].Name + ": not known"
		if c != nil {
			want = table.Groups[i].Name + ": " + amountText(r.Unit, c.Mean)
		}
		if !strings.Contains(says, want) {
			t.Errorf("the label of %s lacks %q: %s", r.Name(), want, says)
		}
		if c != nil && c.Difference != nil && !strings.Contains(says, shortVerdicts[c.Difference.Verdict]) {
			t.Errorf("the label of %s lacks the verdict: %s", r.Name(), says)
		}
	}
}

// hostileComparison is of runs whose every text is one that would do harm.
func hostileComparison(t *testing.T, text string) compare.Table {
	t.Helper()
	var runs []compare.Run
	for i := range 3 {
		r := drilled(itoa(i)+text, 1+float64(i)/10, compare.Condition{Key: "key " + text, Value: itoa(i%2) + text})
		r.Conditions[0].Value = text
		r.Summary.Scenario = text
		r.Summary.FailedSteps = nil
		r.Summary.Phases[0].Ops[text] = r.Summary.Phases[0].Ops["set"]
		r.Summary.Client.Bottleneck, r.Summary.Client.Reason = true, text
		r.Summary.Events = append(r.Summary.Events, result.Event{AtS: 20, Kind: result.StepBegins, Subject: text}, result.Event{AtS: 21, Kind: result.StepRecovered, Subject: text})
		runs = append(runs, r)
	}
	table := compared(t, runs...)
	table.Notes = append(table.Notes, text)
	return table
}

func TestHostileTextsDoNoHarmInAComparison(t *testing.T) {
	plain := len(parse(t, comparisonOf(t, hostileComparison(t, "plain"))).all(""))
	for name, text := range map[string]string{
		"script": "<script>alert(1)</script>", "end of style": "</style><script>alert(1)</script>", "markup": `<img src=x onerror="alert(1)"><b>`,
		"quotes": `"' onload="alert(1)`, "template": "{{.}}${alert(1)}", "escape codes": "\x1b[2J\x1b]0;title\a\u202egnp.exe\u2028",
		"long": strings.Repeat("long ", 2048), "without a space": "<script>" + strings.Repeat("x", 10_000), "not UTF-8": "\xff\xfe<b>",
	} {
		t.Run(name, func(t *testing.T) {
			page := comparisonOf(t, hostileComparison(t, text))
			p := parse(t, page)
			for _, n := range p.all("") {
				if slices.Contains([]string{"script", "img", "iframe", "object"}, n.Data) {
					t.Errorf("the page has a <%s>", n.Data)
				}
				for _, a := range n.Attr {
					if strings.HasPrefix(a.Key, "on") || len(a.Val) > 6000 {
						t.Errorf("<%s> has %s of %d bytes", n.Data, a.Key, len(a.Val))
					}
				}
				if n.FirstChild != nil && n.FirstChild.Type == html.TextNode && n.Data != "style" && len(n.FirstChild.Data) > 3000 {
					t.Errorf("<%s class=%s> has a text of %d bytes", n.Data, attr(n, "class"), len(n.FirstChild.Data))
				}
			}
			// A long name is in a <span> with a title; nothing else is more or less.
			if n := len(p.all("")) - len(p.all("span")) - len(p.all("b")); n > plain {
				t.Errorf("%d elements, a harmless page has %d at most", n, plain)
			}
			if bytes.ContainsAny(page, "\x1b\a\u202e\u2028") {
				t.Error("the page has control characters")
			}
			if len(page) > 400_000 {
				t.Errorf("the page is %d bytes", len(page))
			}
		})
	}
}

func TestLongNamesLeaveTheVerdict(t *testing.T) {
	text := strings.Repeat("long ", 2048)
	table := hostileComparison(t, text)
	p := parse(t, comparisonOf(t, table))
	for _, f := range p.all("figure") {
		fig := parsed{f}
		h := fig.all("h3")[0]
		if !strings.HasPrefix(textOf(h), "long ") {
			continue
		}
		if title := attr(fig.all("span")[0], "title"); len([]rune(textOf(h))) > 2*shortText || !strings.Contains(title, "(10240 characters)") {
			t.Errorf("a chart is called %q, in full %q", textOf(h), title)
		}
		if words := textOf(fig.ofClass("ul", "said")[0]); !strings.Contains(words, "n = 1+2") {
			t.Errorf("of its words is left %q", words)
		}
		return
	}
	t.Error("no chart is of the long name")
}

func TestContrastOfBarsInBothThemes(t *testing.T) {
	for i, colours := range themes(t) {
		for _, c := range []string{"replica", "primary", "service", "client", "outage", "ink"} { // on and beside the bars, also what a ring is filled with
			if got := contrast(t, colours[c], colours["panel"]); got < 3 {
				t.Errorf("theme %d: %s on panel is %.2f", i, c, got)
			}
		}
	}
	for _, m := range regexp.MustCompile(`var\(--([a-z0-9-]+)\)`).FindAllStringSubmatch(compareCSS, -1) {
		if themes(t)[0][m[1]] == "" {
			t.Errorf("--%s is no colour of the page", m[1])
		}
	}
	if found := regexp.MustCompile(`#[0-9a-f]{3,8}\b|rgb|hsl|light-dark|--[a-z0-9-]+:`).FindAllString(compareCSS, -1); len(found) > 0 {
		t.Errorf("colours that are not the page's have no contrast that is tested: %v", found)
	}
}
