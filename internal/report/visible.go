package report

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What servers, scenarios and folders say is shown to people as it is, but for what
// would do something to their terminal or to the lines around it. Texts are cut:
// all of them are in summary.json.
const (
	maxText   = 1000 // characters
	maxCell   = 100  // in a cell of a text table, which makes its column as wide
	maxMDCell = 300  // in a cell of a Markdown table
)

// visible writes control characters, line ends, what turns the direction of writing
// and what is not UTF-8 as \x1b, \n, \u202e, \xff; and cuts what is longer than most.
func visible(s string, most int) string {
	if plain(s, most) {
		return s
	}
	var b strings.Builder
	for n := 0; len(s) > 0; n++ {
		if n == most {
			fmt.Fprintf(&b, "… (%s characters more)", grouped(int64(utf8.RuneCountInString(s))))
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

// cell is a text in a cell of a text table.
func cell(s string) string { return visible(s, maxCell) }

func plain(s string, most int) bool {
	return len(s) <= most && utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !harmless(r) }) < 0
}

// harmless: letters, signs and spaces, but neither control nor format characters.
func harmless(r rune) bool { return unicode.IsGraphic(r) && r != '\u2028' && r != '\u2029' }

// allVisible is a copy of a document in which every text is visible, wherever it
// stands: a field that is new cannot be forgotten.
func allVisible[T any](doc T) T {
	v := reflect.ValueOf(&doc).Elem()
	v.Set(visibleValue(v))
	return doc
}

func visibleValue(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		out.SetString(visible(v.String(), maxText))
	case reflect.Struct:
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(visibleValue(v.Field(i)))
			}
		}
	case reflect.Slice:
		if v.IsNil() {
			break
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(visibleValue(v.Index(i)))
		}
	case reflect.Map:
		if v.IsNil() {
			break
		}
		out.Set(reflect.MakeMap(v.Type()))
		for key, value := range v.Seq2() {
			out.SetMapIndex(visibleValue(key), visibleValue(value))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(visibleValue(v.Elem()))
		}
	}
	return out
}
