package strictyaml

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Bounds of a document once its aliases are resolved. A few anchors that refer
// to each other can stand for billions of values ("billion laughs").
const (
	maxValues = 20_000
	maxDepth  = 64
)

// normalize returns a copy of the tree that holds only mappings with distinct
// keys, lists and scalars; nil, with an error reported, where it passes the
// bounds. Lesser errors are reported and mended, so that decoding can go on.
func (d *Document) normalize(n *yaml.Node) *yaml.Node {
	z := normalizer{doc: d, left: maxValues, open: map[*yaml.Node]bool{}}
	out := z.value(n, "", 0)
	if z.stopped {
		return nil
	}
	return out
}

type normalizer struct {
	doc     *Document
	left    int                 // values that may still be made
	open    map[*yaml.Node]bool // being copied for an alias: to meet one again is a cycle
	stopped bool                // a bound was passed; no more is copied
}

func (z *normalizer) value(n *yaml.Node, path string, depth int) *yaml.Node {
	z.left--
	switch {
	case z.left < 0:
		z.stop(n, path, fmt.Sprintf("more than %d values, counting those of aliases", maxValues))
	case depth > maxDepth:
		z.stop(n, path, fmt.Sprintf("nested more than %d deep", maxDepth))
	}
	if z.stopped {
		return null(n.Line)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		z.doc.fail(n.Line, path, "a tag (!name) is not supported; write the value alone")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return z.alias(n, path, depth)
	case yaml.MappingNode:
		return z.mapping(n, path, depth)
	case yaml.SequenceNode:
		return z.list(n, path, depth)
	default:
		return scalar(n)
	}
}

func (z *normalizer) stop(n *yaml.Node, path, message string) {
	if !z.stopped {
		z.stopped = true
		z.doc.fail(n.Line, path, message)
	}
}

// alias returns a copy of what the alias stands for, at the alias's line.
func (z *normalizer) alias(n *yaml.Node, path string, depth int) *yaml.Node {
	if z.open[n.Alias] {
		z.doc.fail(n.Line, path, "an alias stands for a value that it is part of")
		return null(n.Line)
	}
	z.open[n.Alias] = true
	defer delete(z.open, n.Alias)
	out := z.value(n.Alias, path, depth+1)
	out.Line = n.Line
	return out
}

func (z *normalizer) list(n *yaml.Node, path string, depth int) *yaml.Node {
	out := &yaml.Node{Kind: n.Kind, Tag: "!!seq", Style: n.Style & yaml.FlowStyle, Line: n.Line}
	for i, item := range n.Content {
		if z.stopped {
			break
		}
		out.Content = append(out.Content, z.value(item, join(path, strconv.Itoa(i)), depth+1))
	}
	return out
}

func (z *normalizer) mapping(n *yaml.Node, path string, depth int) *yaml.Node {
	out := newMapping(n.Line)
	out.Style = n.Style & yaml.FlowStyle
	seen := map[string]int{} // key to line
	for key, value := range pairs(n) {
		if z.stopped {
			break
		}
		if problem := keyProblem(key, seen); problem != "" {
			z.doc.fail(key.Line, keyPath(path, key), problem)
			continue
		}
		seen[key.Value] = key.Line
		out.Content = append(out.Content, scalar(key), z.value(value, join(path, key.Value), depth+1))
	}
	return out
}

// keyProblem says why a key cannot be taken, or returns "".
func keyProblem(key *yaml.Node, seen map[string]int) string {
	first, twice := seen[key.Value]
	switch {
	case key.Kind != yaml.ScalarNode || key.Value == "" || isNull(key) || key.Style&yaml.TaggedStyle != 0:
		return "a key is not plain text"
	case key.Tag == "!!merge":
		return "merge keys (<<) are not supported; write the keys out"
	case twice:
		return fmt.Sprintf("is given twice, first in line %d", first)
	}
	return ""
}

func keyPath(path string, key *yaml.Node) string {
	if key.Kind != yaml.ScalarNode {
		return path
	}
	return join(path, key.Value)
}

// quoted is the style of text that may look like something else.
const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle

// scalar returns a copy without comments, anchor and tag. Text of several
// lines is quoted, since block styles do not survive every surrounding.
func scalar(n *yaml.Node) *yaml.Node {
	if isNull(n) {
		return null(n.Line)
	}
	out := &yaml.Node{Kind: yaml.ScalarNode, Tag: n.Tag, Value: n.Value, Line: n.Line, Style: n.Style & quoted}
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || strings.Contains(n.Value, "\n") {
		out.Style = yaml.DoubleQuotedStyle
	}
	if out.Style != 0 {
		out.Tag = "!!str"
	}
	return out
}

// null is spelled out: inside braces the empty spelling would be written as "".
func null(line int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null", Line: line}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func newMapping(line int) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: line}
}

// pairs returns the keys and values of a mapping, nothing for other nodes.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(key, value *yaml.Node) bool) {
		if n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
