package live

import (
	"encoding/json"
	"sync"

	"github.com/rankbench/rankbench/internal/page"
)

// frame is a model as it is sent.
type frame struct {
	number int
	model  page.Model
	tail   []byte // since the frame before; nil where there is none to be joined to
	whole  func() []byte
}

func newFrame(m page.Model, before *frame) *frame {
	f := &frame{number: 1, model: m, whole: sync.OnceValue(func() []byte { return encode(m) })}
	if before == nil {
		return f
	}
	f.number = before.number + 1
	if t, ok := m.Since(before.model); ok {
		f.tail = encode(t)
	}
	return f
}

// encode makes the data of an event: one line.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil { // a float that is no number, of a damaged line: nothing is drawn of it
		return []byte("null")
	}
	return b
}
