package report

import (
	"fmt"
	"strings"

	"github.com/rankbench/rankbench/internal/legible"
)

// markdown collects a document in GitHub's Markdown.
type markdown struct{ strings.Builder }

// mdEscapes are the characters that mean something in Markdown, HTML or on GitHub. A
// zero-width space keeps an @ from calling somebody.
var mdEscapes = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@&#8203;", "://", "&#58;//", "www.", "www&#46;",
	`\`, `\\`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "#", `\#`, "|", `\|`, "~", `\~`, "!", `\!`, "$", `\$`, "{", `\{`, "}", `\}`,
)

// mdText writes text so that it says itself in Markdown, in a cell of a table, too.
func mdText(s string, most int) string {
	return underscores(mdEscapes.Replace(legible.Text(s, most)))
}

// underscores escapes those that do not stand within a word, as those of our own names do.
func underscores(s string) string {
	if !strings.Contains(s, "_") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		within := i > 0 && alphanumeric(s[i-1]) && i+1 < len(s) && alphanumeric(s[i+1])
		if s[i] == '_' && !within {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (m *markdown) heading(level int, text string) {
	fmt.Fprintf(m, "%s %s\n\n", strings.Repeat("#", level), mdText(text, maxText))
}

// table writes a table. The first columns are of texts, the others of figures.
func (m *markdown) table(header []string, texts int, rows [][]string) {
	m.row(header)
	for i := range header {
		if i >= texts {
			m.WriteString("| ---: ")
		} else {
			m.WriteString("| --- ")
		}
	}
	m.WriteString("|\n")
	for _, r := range rows {
		m.row(r)
	}
	m.WriteString("\n")
}

func (m *markdown) row(cells []string) {
	for _, c := range cells {
		fmt.Fprintf(m, "| %s ", mdText(c, maxMDCell))
	}
	m.WriteString("|\n")
}

func (m *markdown) list(items []string) {
	for _, i := range items {
		fmt.Fprintf(m, "- %s\n", mdText(i, maxText))
	}
	if len(items) > 0 {
		m.WriteString("\n")
	}
}

// code writes text as a block, in a fence longer than any run of backticks in it.
func (m *markdown) code(text string) {
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	fmt.Fprintf(m, "%stext\n%s\n%s\n\n", fence, strings.TrimRight(text, "\n"), fence)
}

func longestRun(s string, of rune) int {
	longest, n := 0, 0
	for _, r := range s {
		if n++; r != of {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}
