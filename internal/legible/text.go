// Package legible writes values as people read them: figures of any size, and texts
// of any origin, such as those of servers and scenarios, without harm to a terminal.
package legible

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text writes control characters, line ends, what turns the direction of writing
// and what is not UTF-8 as \x1b, \n, \u202e, \xff; and cuts what is longer than most
// characters.
func Text(s string, most int) string {
	if plain(s, most) {
		return s
	}
	var b strings.Builder
	for n := 0; len(s) > 0; n++ {
		if n == most {
			fmt.Fprintf(&b, "… (%s characters more)", Grouped(int64(utf8.RuneCountInString(s))))
			break
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case harmless(r):
			b.WriteRune(r)
		case r < 0x100 && r != '\n' && r != '\r' && r != '\t':
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
		s = s[size:]
	}
	return b.String()
}

// Lines is Text for each line of a text of several, with its tabs.
func Lines(s string, most int) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		cells := strings.Split(l, "\t")
		for k, c := range cells {
			cells[k] = Text(c, most)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

func plain(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !harmless(r) }) < 0
}

// harmless: letters, signs and spaces, but neither control nor format characters.
func harmless(r rune) bool { return unicode.IsGraphic(r) && r != '\u2028' && r != '\u2029' }
