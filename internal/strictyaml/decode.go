package strictyaml

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Text is a scalar of any type as it is written: 5, true and 1m are "5",
// "true" and "1m". A string takes only text.
type Text string

// Decode fills the struct that into points to; errors are collected for Err.
// Values that the document does not give, or gives as null, are left as they
// are. Fields have a tag with their key, and are of these types:
//
//	string, Text, bool, ints, uints, floats   scalars; 10_000 is 10000
//	time.Duration                             30s, 1h30m; 0; any other number needs a unit
//	slices, maps with string keys             replaced as a whole
//	structs, pointers                         a pointer is nil where nothing is given
//	structs without a name (embedded)         their fields are the outer struct's
//
//	`yaml:"key"`           optional
//	`yaml:"key,required"`  an error where it is not given
//	`yaml:"key,flag"`      pointer to a struct: true is the empty struct, false is none
//
// Decode panics on other types and on fields without a tag: the caller's mistake.
func (d *Document) Decode(into any) {
	d.value(d.root, "", reflect.ValueOf(into).Elem())
}

func (d *Document) value(n *yaml.Node, path string, v reflect.Value) {
	if isNull(n) {
		return
	}
	if take, want := scalarOf(v.Type()); take != nil {
		d.scalar(n, path, v, take, want)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.structure(n, path, v)
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		d.value(n, path, p.Elem())
		v.Set(p)
	case reflect.Slice:
		d.slice(n, path, v)
	case reflect.Map:
		d.dictionary(n, path, v)
	default:
		panic("strictyaml: cannot decode into " + v.Type().String())
	}
}

func (d *Document) scalar(n *yaml.Node, path string, v reflect.Value, take taker, want string) {
	if n.Kind != yaml.ScalarNode {
		d.wrongType(n, path, want)
		return
	}
	if err := take(n, v); err != nil {
		d.Errorf(path, "%s %s", d.describe(n, path), err)
	}
}

func (d *Document) slice(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, path, "a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		at := join(path, strconv.Itoa(i))
		if isNull(item) {
			d.Errorf(at, "is empty")
		}
		d.value(item, at, v.Index(i))
	}
}

func (d *Document) dictionary(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, path, "a mapping of keys to values")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for key, value := range pairs(n) {
		if isNull(value) {
			continue
		}
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(value, join(path, key.Value), e)
		v.SetMapIndex(reflect.ValueOf(key.Value).Convert(v.Type().Key()), e)
	}
}

func (d *Document) structure(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, path, "a mapping of keys to values")
		return
	}
	fields := fieldsOf(v)
	for key, value := range pairs(n) {
		f, ok := fields.find(key.Value)
		switch at := join(path, key.Value); {
		case !ok:
			d.unknown(at, key.Value, fields)
		case f.flag && isBool(value):
			raise(value, f.value)
		default:
			d.value(value, at, f.value)
		}
	}
	for _, f := range fields {
		if at := join(path, f.key); f.required && !given(n, f.key) {
			d.Errorf(at, "is missing")
		}
	}
}

// raise sets the pointer of a field with the flag option.
func raise(n *yaml.Node, v reflect.Value) {
	v.SetZero()
	if on, _ := strconv.ParseBool(n.Value); on {
		v.Set(reflect.New(v.Type().Elem()))
	}
}

func given(n *yaml.Node, name string) bool {
	for key, value := range pairs(n) {
		if key.Value == name {
			return !isNull(value)
		}
	}
	return false
}

type field struct {
	key            string
	value          reflect.Value
	required, flag bool
}

type fields []field

func (fs fields) find(key string) (field, bool) {
	i := slices.IndexFunc(fs, func(f field) bool { return f.key == key })
	if i < 0 {
		return field{}, false
	}
	return fs[i], true
}

func (fs fields) keys() []string {
	keys := make([]string, len(fs))
	for i, f := range fs {
		keys[i] = f.key
	}
	return keys
}

// fieldsOf returns the fields of a struct in their order, those of embedded
// structs among them.
func fieldsOf(v reflect.Value) fields {
	var fs fields
	for sf, fv := range v.Fields() {
		if sf.Anonymous {
			fs = append(fs, fieldsOf(fv)...)
			continue
		}
		key, options, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
		if key == "" {
			panic(fmt.Sprintf("strictyaml: field %s of %s has no yaml tag", sf.Name, v.Type()))
		}
		fs = append(fs, field{key, fv, options == "required", options == "flag"})
	}
	return fs
}

// unknown reports a key that has no field.
func (d *Document) unknown(path, key string, fs fields) {
	if d.opts.Unknown != nil {
		if hint := d.opts.Unknown(path); hint != "" {
			d.Errorf(path, "is not a known key: %s", hint)
			return
		}
	}
	known := fs.keys()
	if near, ok := nearest(key, known); ok {
		d.Errorf(path, "is not a known key; did you mean %s?", near)
		return
	}
	d.Errorf(path, "is not a known key; known here: %s", strings.Join(known, ", "))
}

func (d *Document) wrongType(n *yaml.Node, path, want string) {
	d.Errorf(path, "%s is not %s", d.describe(n, path), want)
}

// describe says what a value is, without showing it where it may be a secret.
func (d *Document) describe(n *yaml.Node, path string) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case d.secret(path), d.opts.Secret != nil && d.opts.Secret(n.Value):
		return "the value (not shown)"
	case n.Tag == "!!str":
		return strconv.Quote(shorten(n.Value, 60))
	default:
		return shorten(n.Value, 60)
	}
}

func (d *Document) secret(path string) bool {
	return d.opts.Secret != nil && slices.ContainsFunc(strings.Split(path, "."), d.opts.Secret)
}

// shorten keeps a value that was pasted by mistake from filling the screen.
func shorten(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}
