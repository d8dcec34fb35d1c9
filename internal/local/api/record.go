package api

// record is a result, or a structure within one, of the services that speak more
// than one protocol: fields in the order of the service model. A value is a
// string, bool, float64, time.Time, record or []any of these; each protocol writes
// them in its own way.
type record []field

type field struct {
	name  string
	value any
}

// list makes a value of a record from a slice.
func list[T any](items []T, each func(T) any) []any {
	all := make([]any, 0, len(items))
	for _, item := range items {
		all = append(all, each(item))
	}
	return all
}

// with adds a string, unless it is empty: AWS leaves out what is not there.
func (r record) with(name, value string) record {
	if value == "" {
		return r
	}
	return append(r, field{name, value})
}
