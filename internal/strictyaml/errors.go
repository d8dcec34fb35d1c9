package strictyaml

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Error is one thing that is wrong with a document.
type Error struct {
	File    string // name of the document; "" for an override
	Line    int    // from 1; 0 for an override
	Path    string // such as phases.0.duration; "" for the whole document
	Message string
}

// Error returns "file:line: path: message", or "--set path: message" for an override.
func (e Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("--set %s: %s", e.Path, e.Message)
	}
	if e.Path == "" {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.File, e.Line, e.Path, e.Message)
}

// Errors is everything that is wrong with a document, by line; errors of
// overrides come last.
type Errors struct{ List []Error }

// Error returns the messages, one a line.
func (e *Errors) Error() string {
	lines := make([]string, len(e.List))
	for i, one := range e.List {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Errorf adds an error about the value at the path, or about its absence: it
// is reported at the line of the path's last part that is there. The first
// error of a path stands: a value of the wrong type is not out of range as well.
func (d *Document) Errorf(path, format string, args ...any) {
	if slices.ContainsFunc(d.errs, func(e Error) bool { return e.Path == path }) {
		return
	}
	message := fmt.Sprintf(format, args...)
	line, override := d.locate(path)
	if override {
		d.failSet(path, message)
		return
	}
	d.fail(line, path, message)
}

// Err returns all errors so far as *Errors, or nil.
func (d *Document) Err() error {
	if len(d.errs) == 0 {
		return nil
	}
	list := slices.Clone(d.errs)
	slices.SortStableFunc(list, func(a, b Error) int { return cmp.Compare(a.rank(), b.rank()) })
	return &Errors{list}
}

// rank is the line, or a number above all lines for an override.
func (e Error) rank() int {
	if e.Line == 0 {
		return math.MaxInt
	}
	return e.Line
}

func (d *Document) fail(line int, path, message string) {
	d.errs = append(d.errs, Error{d.name, max(1, line), d.showable(path), message})
}

func (d *Document) failSet(path, message string) {
	d.errs = append(d.errs, Error{Path: d.showable(path), Message: message})
}

var plainPath = regexp.MustCompile(`^[\w.-]*`)

// showable keeps a path short, and free of a secret that ended up in a key,
// as in {password=x}.
func (d *Document) showable(path string) string {
	if d.secret(path) {
		path = plainPath.FindString(path)
	}
	return shorten(path, 200)
}

// locate walks down the path as far as it goes.
func (d *Document) locate(path string) (line int, override bool) {
	n, rest := d.root, path
	line, override = n.Line, d.set[n]
	for rest != "" {
		var at int
		at, n, rest = d.step(n, rest)
		if n == nil {
			break
		}
		line, override = at, override || d.set[n]
	}
	return line, override
}

// step goes down one level: to the child that the path begins with, the line
// to report it at, and the rest of the path. Keys may hold dots themselves, so
// the path is matched against them rather than split.
func (d *Document) step(n *yaml.Node, path string) (line int, child *yaml.Node, rest string) {
	if n.Kind == yaml.SequenceNode {
		first, rest, _ := strings.Cut(path, ".")
		i, err := strconv.Atoi(first)
		if err != nil || i < 0 || i >= len(n.Content) {
			return 0, nil, ""
		}
		return n.Content[i].Line, n.Content[i], rest
	}
	for key, value := range pairs(n) {
		if rest, ok := strings.CutPrefix(path, key.Value); ok && (rest == "" || rest[0] == '.') {
			return key.Line, value, strings.TrimPrefix(rest, ".")
		}
	}
	return 0, nil, ""
}
