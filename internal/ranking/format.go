package ranking

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// DefaultMemberFormat gives members of 16 bytes, a usual length for player ids.
const DefaultMemberFormat = "player:%09d"

// Format turns ids into member names without allocating. It is the part of
// fmt's verbs that member names need: exactly one %d, optionally with a width
// and zero padding.
type Format struct {
	prefix, suffix string
	width          int
	pad            byte
}

// ParseFormat reads a format such as "player:%09d", "%d" or "u-%8d-x". %% stands for %.
func ParseFormat(s string) (Format, error) {
	bad := func(why string) (Format, error) {
		return Format{}, fmt.Errorf("member_format: %q %s; use one %%d, such as %q", s, why, DefaultMemberFormat)
	}
	f := Format{pad: ' '}
	var verbs int
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out.WriteByte(s[i])
			continue
		}
		if strings.HasPrefix(s[i:], "%%") {
			out.WriteByte('%')
			i++
			continue
		}
		verb, _, ok := strings.Cut(s[i+1:], "d")
		if !ok || !f.parseVerb(verb) {
			return bad("has a verb other than %d or %0Nd")
		}
		verbs++
		f.prefix = out.String()
		out.Reset()
		i += len(verb) + 1
	}
	if verbs != 1 {
		return bad(fmt.Sprintf("has %d verbs", verbs))
	}
	f.suffix = out.String()
	return f, nil
}

// maxWidth keeps a mistyped width from making members of megabytes.
const maxWidth = 512

func (f *Format) parseVerb(verb string) bool {
	if verb == "" {
		return true
	}
	if verb[0] == '0' {
		f.pad = '0'
	}
	w, err := strconv.ParseUint(verb, 10, 16)
	f.width = int(w)
	return err == nil && f.width >= 1 && f.width <= maxWidth
}

// Append appends the name of the member with this id (0 or more) to buf.
func (f Format) Append(buf []byte, id int64) []byte {
	buf = append(buf, f.prefix...)
	for n := f.width - digits(id); n > 0; n-- {
		buf = append(buf, f.pad)
	}
	buf = strconv.AppendInt(buf, id, 10)
	return append(buf, f.suffix...)
}

// Parse is the inverse of Append: the id of the member with this name; ok is
// false where no id has it.
func (f *Format) Parse(name string) (id int64, ok bool) {
	n := len(name) - len(f.prefix) - len(f.suffix)
	if n < max(f.width, 1) || name[:len(f.prefix)] != f.prefix || name[len(f.prefix)+n:] != f.suffix {
		return 0, false
	}
	body := name[len(f.prefix) : len(f.prefix)+n]
	if n == f.width && f.pad == '0' {
		return parseDigits(body)
	}
	if n == f.width {
		for len(body) > 1 && body[0] == ' ' {
			body = body[1:]
		}
	}
	if body[0] == '0' && len(body) > 1 {
		return 0, false
	}
	return parseDigits(body)
}

func parseDigits(s string) (n int64, ok bool) {
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 || n > math.MaxInt64/10 {
			return 0, false
		}
		n = n*10 + int64(d)
	}
	return n, n >= 0 // one too large is negative
}

func digits(id int64) int {
	n := 1
	for id >= 10 {
		id /= 10
		n++
	}
	return n
}
