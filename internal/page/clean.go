package page

import (
	"fmt"
	"strings"
	"unicode"
)

// longest is how much of a text is shown, characters: a line or two.
const longest = 300

// clean makes a text of the run harmless to look at: control characters, such as
// those that begin a terminal's escape codes, are shown as their pictures, those
// that turn the direction of writing are left out, and what is too long is cut.
// That it cannot become HTML is the template's business and the script's.
func clean(text string) string {
	runes := []rune(strings.Map(printable, strings.ToValidUTF8(text, "\uFFFD")))
	if len(runes) <= longest {
		return string(runes)
	}
	return fmt.Sprintf("%s… (%d characters)", string(runes[:longest]), len(runes))
}

// cleanLines is clean for a text of many lines, up to so many bytes.
func cleanLines(text string, most int) string {
	cut := len(text) > most
	if cut {
		text = text[:most]
	}
	lines := strings.Split(strings.ToValidUTF8(text, ""), "\n")
	for i, l := range lines {
		lines[i] = strings.Map(printable, l)
	}
	if cut {
		lines = append(lines, "…")
	}
	return strings.Join(lines, "\n")
}

func printable(r rune) rune {
	switch {
	case r < 0x20:
		return 0x2400 + r // ␛ for an escape
	case r == 0x7f:
		return 0x2421
	case r >= 0x80 && r < 0xa0:
		return unicode.ReplacementChar
	case unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029:
		return -1
	}
	return r
}
