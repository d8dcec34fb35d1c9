package api

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/local/control"
)

// args are the parameters of a call, or of a structure within one, the same from
// all protocols. A value is one of raw, string, bool, float64, json.Number,
// time.Time, []any and map[string]any. Reading never fails: the first thing that
// is wrong is kept for err, so that an action reads all it needs and asks once.
type args struct {
	fields map[string]any
	path   string // of this structure, with a dot at its end
	faults *faults
}

// raw is a value from Query, where everything is text; a string from JSON or
// CBOR, by contrast, is never a number.
type raw string

// faults keeps the first fault of a call, in the words of the service.
type faults struct {
	query   bool // the call is in Query, so a wrong form is the service's to refuse
	dialect dialect
	first   *control.Error
}

// dialect is how a service refuses parameters: not even AWS's own agree.
type dialect struct {
	missing     string // code
	missingText string // a format of the name
	value       string // code
}

// queryArgs are the args of a call in Query; other protocols have typed values.
func queryArgs(fields map[string]any, d dialect) args {
	return args{fields: fields, faults: &faults{query: true, dialect: d}}
}

func typedArgs(fields map[string]any, d dialect) args {
	return args{fields: fields, faults: &faults{dialect: d}}
}

// in returns the same args with their faults in another dialect.
func (a args) in(d dialect) args {
	a.faults.dialect = d
	return a
}

// err is the first fault, or nil.
func (a args) err() error {
	if a.faults.first == nil {
		return nil
	}
	return a.faults.first
}

func (a args) fault(e *control.Error) {
	if a.faults.first == nil {
		a.faults.first = e
	}
}

func (a args) missing(name string) {
	d := a.faults.dialect
	a.fault(refuse(d.missing, d.missingText, a.path+name))
}

// invalid is a fault of a value's form: in Query the service's, in JSON and CBOR
// that of the protocol.
func (a args) invalid(name string, v any, want string) {
	if text, given := v.(raw); given {
		want += ", not " + strconv.Quote(shown(string(text)))
	}
	code := codeSerialization
	if a.faults.query {
		code = a.faults.dialect.value
	}
	a.fault(refuse(code, "The parameter %s must be %s.", shown(a.path+name), want))
}

func (a args) has(name string) bool { return a.fields[name] != nil }

// text is a string, "" if it is not given.
func (a args) text(name string) string {
	return a.asText(name, a.fields[name])
}

func (a args) asText(name string, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case raw:
		return strings.ToValidUTF8(string(v), "\uFFFD")
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	}
	a.invalid(name, v, "a string")
	return ""
}

// required is a string that must be given and not be blank.
func (a args) required(name string) string {
	text := a.text(name)
	if strings.TrimSpace(text) == "" {
		a.missing(name)
	}
	return text
}

// whole is an integer of 32 bits, nil if it is not given.
func (a args) whole(name string) *int {
	v := a.fields[name]
	if v == nil {
		return nil
	}
	n, ok := wholeOf(v)
	if !ok {
		a.invalid(name, v, "an integer")
		return nil
	}
	return &n
}

func wholeOf(v any) (int, bool) {
	switch v := v.(type) {
	case raw:
		n, err := strconv.ParseInt(string(v), 10, 32)
		return int(n), err == nil
	case json.Number:
		n, err := strconv.ParseInt(v.String(), 10, 32)
		return int(n), err == nil
	case float64:
		return int(v), v == math.Trunc(v) && math.Abs(v) <= math.MaxInt32
	}
	return 0, false
}

// requiredWhole is an integer that must be given.
func (a args) requiredWhole(name string) int {
	n := a.whole(name)
	if n == nil {
		a.missing(name)
		return 0
	}
	return *n
}

// between is an integer of a range, with a value for when it is not given.
func (a args) between(name string, least, most, otherwise int) int {
	n := a.whole(name)
	if n == nil {
		return otherwise
	}
	if *n < least || *n > most {
		a.fault(refuse(a.faults.dialect.value, "The parameter %s must be between %d and %d, not %d.", a.path+name, least, most, *n))
	}
	return *n
}

// flag is a boolean, nil if it is not given.
func (a args) flag(name string) *bool {
	yes := false
	switch v := a.fields[name].(type) {
	case nil:
		return nil
	case bool:
		yes = v
	case raw:
		yes = strings.EqualFold(string(v), "true")
		if !yes && !strings.EqualFold(string(v), "false") {
			a.invalid(name, v, "true or false")
		}
	default:
		a.invalid(name, v, "true or false")
	}
	return &yes
}

func (a args) isSet(name string) bool {
	yes := a.flag(name)
	return yes != nil && *yes
}

// requiredFlag is a boolean that must be given.
func (a args) requiredFlag(name string) bool {
	if !a.has(name) {
		a.missing(name)
	}
	return a.isSet(name)
}

// instant is a time, zero if it is not given.
func (a args) instant(name string) time.Time {
	v := a.fields[name]
	if v == nil {
		return time.Time{}
	}
	at, ok := instantOf(v)
	if !ok {
		a.invalid(name, v, "a date as in 2006-01-02T15:04:05Z")
		return time.Time{}
	}
	return at
}

// requiredInstant is a time that must be given.
func (a args) requiredInstant(name string) time.Time {
	if !a.has(name) {
		a.missing(name)
	}
	return a.instant(name)
}

func instantOf(v any) (time.Time, bool) {
	switch v := v.(type) {
	case time.Time:
		return v, sensible(v)
	case raw:
		return parseDate(string(v))
	case json.Number:
		seconds, err := v.Float64()
		return epoch(seconds), err == nil && sensible(epoch(seconds))
	case float64:
		return epoch(v), sensible(epoch(v))
	}
	return time.Time{}, false
}

// parseDate takes the forms of ISO 8601 that AWS takes; what has no zone is UTC.
func parseDate(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "20060102T150405Z", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), sensible(at)
		}
	}
	return time.Time{}, false
}

// epoch is a number of seconds since 1970. What does not fit is the year 0,
// which is not sensible.
func epoch(seconds float64) time.Time {
	if !(math.Abs(seconds) < 1e12) { // also NaN
		return time.Time{}
	}
	return time.UnixMilli(int64(math.Round(seconds * 1e3))).UTC()
}

// sensible keeps times away from where durations overflow.
func sensible(t time.Time) bool { return t.Year() >= 1970 && t.Year() < 2200 }
