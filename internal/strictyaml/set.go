package strictyaml

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Set applies an override, "path=value": the path in dots, list items by index
// from 0, the value as YAML. Missing mapping keys are made; lists do not grow;
// an empty value takes the key back to its default. What is wrong with the
// override, now or when it is decoded, is reported by Err as "--set path: …".
func (d *Document) Set(override string) {
	path, text, ok := strings.Cut(override, "=")
	path = strings.TrimSpace(path)
	if !ok || path == "" {
		d.failSet(override, "is not path=value, such as phases.0.duration=30s")
		return
	}
	value, err := d.parseValue(path, text)
	if err != nil {
		d.failSet(path, err.Error())
		return
	}
	if value == nil {
		return // reported
	}
	if err := d.put(path, value); err != nil {
		d.failSet(path, err.Error())
	}
}

// parseValue returns nil where the value's own errors are already reported.
func (d *Document) parseValue(path, text string) (*yaml.Node, error) {
	if _, ok := lineOfBadUTF8([]byte(text)); !ok {
		return nil, errors.New("is not UTF-8 text")
	}
	n, err := parseOne([]byte(text))
	if errors.Is(err, io.EOF) {
		return null(1), nil
	}
	if err != nil {
		_, _, why := d.explain(err, nil)
		return nil, fmt.Errorf("value is not YAML, quote it if it is text: %s", why)
	}
	return d.normalizeValue(path, n), nil
}

// normalizeValue reports the value's errors as those of an override.
func (d *Document) normalizeValue(path string, n *yaml.Node) *yaml.Node {
	before := len(d.errs)
	out := d.normalize(n)
	for i := range d.errs[before:] {
		e := &d.errs[before+i]
		*e = Error{Path: strings.TrimSuffix(join(path, e.Path), "."), Message: e.Message}
	}
	return out
}

// put replaces the value at the path, making what is missing on the way. Only
// the last steps can be missing, and nothing goes wrong below a missing one:
// an error leaves the tree as it was.
func (d *Document) put(path string, value *yaml.Node) error {
	steps := strings.Split(path, ".")
	if slices.Contains(steps, "") || len(steps) > maxDepth {
		return errors.New("is not a path such as phases.0.duration")
	}
	n := d.root
	for i, step := range steps {
		child, err := d.descend(n, step)
		if err != nil {
			return fmt.Errorf("%s: %w", cmp.Or(strings.Join(steps[:i], "."), "the document"), err)
		}
		n = child
	}
	*n = *value
	d.set[n] = true
	return nil
}

// descend returns the child of n at the step, made where it is missing.
func (d *Document) descend(n *yaml.Node, step string) (*yaml.Node, error) {
	if isNull(n) {
		*n = *newMapping(n.Line)
		d.set[n] = true
	}
	switch n.Kind {
	case yaml.MappingNode:
		return d.member(n, step), nil
	case yaml.SequenceNode:
		return item(n, step)
	default:
		return nil, errors.New("is a single value and has nothing below it")
	}
}

func (d *Document) member(n *yaml.Node, name string) *yaml.Node {
	for key, value := range pairs(n) {
		if key.Value == name {
			return value
		}
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: name, Line: n.Line}
	value := null(n.Line)
	d.set[value] = true
	n.Content = append(n.Content, key, value)
	return value
}

func item(n *yaml.Node, index string) (*yaml.Node, error) {
	i, err := strconv.ParseUint(index, 10, 31)
	if err != nil {
		return nil, fmt.Errorf("is a list: %q is not an index, which counts from 0", index)
	}
	if i >= uint64(len(n.Content)) {
		return nil, fmt.Errorf("has no item %d: it has %d, counted from 0", i, len(n.Content))
	}
	return n.Content[i], nil
}
