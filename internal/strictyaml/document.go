// Package strictyaml decodes a YAML document into structs and tells everything
// that is wrong with it at once, each with its file, line and path:
//
//	scenarios/x.yaml:12: phases.0.ops.set.workers: "many" is not a whole number
//
// It knows nothing of what the documents mean. Its steps:
//
//  1. ReadFile reads a file, Parse makes a tree of it. What cannot be read as
//     YAML at all ends here.
//  2. The tree is normalized: aliases become copies, within bounds; comments
//     go; duplicate keys and tags are refused (normalize.go).
//  3. Document.Set changes values of the tree, for overrides from a command
//     line (set.go).
//  4. Document.Decode fills a struct by reflection: unknown keys, wrong types
//     and missing values are errors (decode.go, scalar.go).
//  5. The caller checks what the values mean, and reports with
//     Document.Errorf; Document.Err returns all errors of all steps in the
//     order of their lines (errors.go).
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// maxSize bounds a document; a scenario of this size was not written by a person.
const maxSize = 1 << 20

// Options adapt the errors to what a document means. The zero value is usable.
type Options struct {
	// Unknown says more about an unknown key than which keys are known, or
	// returns "".
	Unknown func(path string) string
	// Secret says whether values under this key must not appear in errors.
	Secret func(key string) bool
}

// Document is a YAML document: a tree of values that know their lines, and the
// errors found in it so far. It is not safe for concurrent use.
type Document struct {
	name string
	opts Options
	root *yaml.Node
	set  map[*yaml.Node]bool // values that Set has put there
	errs []Error
}

// ReadFile reads a file of at most 1 MiB. Its errors name the path.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, readError(path, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, readError(path, err)
	}
	if len(data) > maxSize {
		return nil, readError(path, errors.New("is larger than 1 MiB"))
	}
	return data, nil
}

// readError drops the path that os puts into its errors, since ours has it.
func readError(path string, err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("read %s: %w", path, err)
}

// Parse makes a document of YAML text; name stands for the file in errors. Its
// errors, of type *Errors, are those that leave nothing to decode; others wait
// in Err.
func Parse(name string, data []byte, opts Options) (*Document, error) {
	d := &Document{name: name, opts: opts, set: map[*yaml.Node]bool{}}
	d.root = d.parse(data)
	if d.root == nil {
		return nil, d.Err()
	}
	return d, nil
}

func (d *Document) parse(data []byte) *yaml.Node {
	if line, ok := lineOfBadUTF8(data); !ok {
		d.fail(line, "", "is not UTF-8 text")
		return nil
	}
	n, err := parseOne(data)
	switch {
	case errors.Is(err, io.EOF) || err == nil && isNull(n):
		d.fail(1, "", "is empty")
		return nil
	case err != nil:
		d.fail(d.explain(err, data))
		return nil
	}
	return d.normalize(n)
}

// lineOfBadUTF8 returns the first line that is not UTF-8; ok where there is none.
func lineOfBadUTF8(data []byte) (line int, ok bool) {
	line = 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			return line, false
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return 0, true
}

// errSeveral is returned for a second document in the same text.
var errSeveral = errors.New("several documents (---) are in one file; only one may be")

// parseOne returns the tree of the only document in data; io.EOF where there is none.
func parseOne(data []byte) (*yaml.Node, error) {
	in := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	if err := in.Decode(&first); err != nil {
		return nil, err
	}
	switch err := in.Decode(&second); {
	case err == nil:
		return nil, errSeveral
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return first.Content[0], nil
}

var (
	yamlLine      = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// explain turns an error of the YAML library into the arguments of fail. The
// library names lines in its messages, except for unknown anchors; and those
// are the only message that quotes the text, which may be a secret.
func (d *Document) explain(err error, data []byte) (line int, path, message string) {
	text := err.Error()
	line = 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
		}
	}
	if m := unknownAnchor.FindStringSubmatch(text); m != nil {
		at := max(0, bytes.Index(data, []byte("*"+m[1])))
		line = 1 + bytes.Count(data[:at], []byte("\n"))
		text = "an alias (*name) has no anchor (&name) before it; quote the text if it is none"
	}
	return line, "", text
}

// Source returns the document as YAML: overrides applied, aliases resolved,
// comments dropped. Parsing it gives an equal document.
func (d *Document) Source() string {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	// A tree of mappings, lists and valid text into a buffer: neither can fail.
	_ = enc.Encode(d.root)
	_ = enc.Close()
	return out.String()
}

// Has says whether the document gives a value, other than null, at the path.
func (d *Document) Has(path string) bool {
	n := d.find(path)
	return n != nil && !isNull(n)
}

// Len returns the number of items of the list at the path; 0 where there is none.
func (d *Document) Len(path string) int {
	n := d.find(path)
	if n == nil || n.Kind != yaml.SequenceNode {
		return 0
	}
	return len(n.Content)
}

// find returns the value at the path, or nil.
func (d *Document) find(path string) *yaml.Node {
	n := d.root
	for n != nil && path != "" {
		_, n, path = d.step(n, path)
	}
	return n
}
