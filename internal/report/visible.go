package report

import (
	"reflect"

	"github.com/rankbench/rankbench/internal/legible"
)

// What servers, scenarios and folders say is shown to people as it is, but for what
// would do something to their terminal or to the lines around it. Texts are cut:
// all of them are in summary.json.
const (
	maxText   = 1000 // characters
	maxCell   = 100  // in a cell of a text table, which makes its column as wide
	maxMDCell = 300  // in a cell of a Markdown table
)

// cell is a text in a cell of a text table.
func cell(s string) string { return legible.Text(s, maxCell) }

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
		out.SetString(legible.Text(v.String(), maxText))
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
