package api

import (
	"slices"
	"strconv"
	"strings"
)

// child is a structure; it has no fields if it is not given.
func (a args) child(name string) args {
	return a.asChild(name, a.fields[name])
}

func (a args) asChild(name string, v any) args {
	fields, ok := v.(map[string]any)
	if !ok && v != nil && v != raw("") {
		a.invalid(name, v, "a structure")
	}
	return args{fields: fields, path: a.path + name + ".", faults: a.faults}
}

// structures is a list of structures. In Query its items go by "member" or by
// the name the service model gives them.
func (a args) structures(name, item string) []args {
	var all []args
	for _, e := range a.elements(name, item) {
		all = append(all, a.asChild(e.name, e.value))
	}
	return all
}

// texts is a list of strings.
func (a args) texts(name, item string) []string {
	var all []string
	for _, e := range a.elements(name, item) {
		all = append(all, a.asText(e.name, e.value))
	}
	return all
}

// element is an item of a list, with its name in Query: Tags.Tag.1.
type element struct {
	name  string
	value any
}

func (a args) elements(name, item string) []element {
	switch v := a.fields[name].(type) {
	case nil:
		return nil
	case []any:
		var all []element
		for i, value := range v {
			all = append(all, element{name + "." + item + "." + strconv.Itoa(i+1), value})
		}
		return all
	case map[string]any:
		return a.queryElements(name, item, v)
	case raw:
		if v == "" { // how Query writes a list without items
			return nil
		}
	}
	a.invalid(name, a.fields[name], "a list")
	return nil
}

func (a args) queryElements(name, item string, list map[string]any) []element {
	if _, named := list[item]; !named {
		item = "member"
	}
	items, ok := list[item].(map[string]any)
	numbers, numbered := indices(items)
	if !ok || !numbered || len(list) > 1 {
		a.invalid(name, list, "a list "+name+"."+item+".N")
		return nil
	}
	var all []element
	for _, n := range numbers {
		all = append(all, element{name + "." + item + "." + n, items[n]})
	}
	return all
}

// indices are the keys of the items of a list in their order; gaps are allowed,
// as with AWS.
func indices(items map[string]any) ([]string, bool) {
	numbers := make([]string, 0, len(items))
	for key := range items {
		if n, err := strconv.ParseUint(key, 10, 31); err != nil || strconv.FormatUint(n, 10) != key {
			return nil, false
		}
		numbers = append(numbers, key)
	}
	slices.SortFunc(numbers, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return numbers, true
}
