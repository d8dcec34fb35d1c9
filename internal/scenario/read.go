package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/strictyaml"
)

// Read reads the scenario of a file. What is wrong in it is returned as
// *strictyaml.Errors, all at once.
func Read(path string, o Overrides) (*Scenario, error) {
	data, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, o)
}

// Parse reads a scenario from YAML text; name stands for the file in errors.
func Parse(name string, data []byte, o Overrides) (*Scenario, error) {
	doc, err := strictyaml.Parse(name, data, strictyaml.Options{})
	if err != nil {
		return nil, err
	}
	if err := override(doc, o); err != nil {
		return nil, err
	}
	var f file
	doc.Decode(&f)
	s := check{doc}.scenario(&f)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	s.Source = doc.Source()
	return s, nil
}

// override applies the overrides in their order; the duration of all phases
// comes first, so that one phase can still be set apart.
func override(doc *strictyaml.Document, o Overrides) error {
	if o.Duration != 0 {
		if o.Duration < 0 || o.Duration > maxDuration {
			return fmt.Errorf("--duration: must be above 0 and at most %v, not %v", maxDuration, o.Duration)
		}
		for i := range doc.Len("phases") {
			doc.Set(fmt.Sprintf("phases.%d.duration=%v", i, o.Duration))
		}
	}
	for _, s := range o.Set {
		doc.Set(s)
	}
	return nil
}

// Bounds. They refuse what is a slip of the pen rather than what is unwise.
const (
	maxDuration  = 720 * time.Hour // a month
	maxWorkers   = 100_000
	maxRate      = 10_000_000
	maxCount     = 10_000 // members of a find, rows of a page
	maxShards    = 90     // node groups of an ElastiCache cluster, where the quota is not raised
	maxReplicas  = 5      // of a node group
	minThreshold = 10 * time.Millisecond
	maxThreshold = time.Hour
	maxPause     = time.Minute
)

// Defaults.
const (
	defaultKey       = "ranking"
	defaultSpread    = 100_000
	defaultSeed      = 1
	defaultThreshold = 500 * time.Millisecond
	defaultPause     = 10 * time.Millisecond
	defaultWorkers   = 50
	defaultPatience  = time.Second
	defaultCount     = 100
)

// check reports what is wrong at its line of the document, and goes on.
type check struct{ doc *strictyaml.Document }

// within reports a value that is not in least … most, both included.
func within[T int | int64 | float64 | time.Duration](c check, path string, v, least, most T) {
	inside := v >= least && v <= most // false for NaN
	if !inside {
		c.doc.Errorf(path, "%v is not in %v … %v", v, least, most)
	}
}

// positive reports a value that is not above 0 and at most most.
func positive[T float64 | time.Duration](c check, path string, v, most T) {
	inside := v > 0 && v <= most // false for NaN
	if !inside {
		c.doc.Errorf(path, "must be above 0 and at most %s, not %s", plain(most), plain(v))
	}
}

// plain writes large numbers without an exponent.
func plain(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// oneOf reports a word that is not in the list.
func (c check) oneOf(path, word string, words ...string) {
	if !slices.Contains(words, word) {
		c.doc.Errorf(path, "%q is not one of: %s", word, strings.Join(words, ", "))
	}
}

// or is the value that is given, or the default.
func or[T any](given *T, fallback T) T {
	if given == nil {
		return fallback
	}
	return *given
}
