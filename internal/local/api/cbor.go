package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/rankbench/rankbench/internal/local/control"
)

// cborProtocol is Smithy RPC v2 CBOR: the operation is in the path, times are
// numbers with tag 1. Source: the Smithy specification of
// smithy.protocols#rpcv2Cbor.
type cborProtocol struct{}

const (
	cborMedia = "application/cbor"
	cborName  = "rpc-v2-cbor"
)

func (cborProtocol) accepts(r *http.Request) error {
	if err := acceptMethods(r, http.MethodPost); err != nil {
		return err
	}
	if name := r.Header.Get("Smithy-Protocol"); name != cborName {
		return refuse(codeSerialization, "The header Smithy-Protocol must be %s, not %q.", cborName, shown(name))
	}
	if media := mediaType(r); media != cborMedia && media != "" {
		return refuseWith(http.StatusUnsupportedMediaType, "UnsupportedMediaTypeException",
			"The content type must be %s, not %q.", cborMedia, shown(media))
	}
	return nil
}

func (cborProtocol) read(services []*service, r *http.Request, body []byte, c *call) error {
	parts := strings.Split(r.URL.Path, "/") // "", service, target, operation, action
	speaks := func(s *service) bool { return s.cbor }
	if len(parts) != 5 || parts[1] != "service" || parts[3] != "operation" || !c.choose(services, unqualified(parts[2]), parts[4], speaks) {
		return unknownOperation(http.StatusNotFound, r.URL.Path)
	}
	fields, err := decodeCBOR(body)
	if err != nil {
		return err
	}
	c.args = typedArgs(fields, c.service.dialect)
	return nil
}

func decodeCBOR(body []byte) (map[string]any, error) {
	if len(body) == 0 { // an operation without input
		return map[string]any{}, nil
	}
	value, err := cbor.Decode(body)
	if err != nil {
		return nil, refuse(codeSerialization, "The body is not CBOR.")
	}
	fields, ok := fromCBOR(value).(map[string]any)
	if !ok {
		return nil, refuse(codeSerialization, "The body is not a CBOR map.")
	}
	return fields, nil
}

// fromCBOR is the value as args know it. What has no place there stays what it
// is, and is refused by whoever reads it.
func fromCBOR(v cbor.Value) any {
	switch v := v.(type) {
	case cbor.Map:
		fields := make(map[string]any, len(v))
		for name, value := range v {
			fields[name] = fromCBOR(value)
		}
		return fields
	case cbor.List:
		return list(v, fromCBOR)
	case cbor.String:
		return string(v)
	case cbor.Bool:
		return bool(v)
	case *cbor.Nil, *cbor.Undefined:
		return nil
	case *cbor.Tag:
		return timeFromCBOR(v)
	}
	if n, err := cbor.AsFloat64(v); err == nil {
		return n
	}
	return v
}

// timeFromCBOR takes the number out of tag 1 rather than cbor.AsTime, which
// overflows silently.
func timeFromCBOR(tag *cbor.Tag) any {
	const epochTag = 1
	seconds, err := cbor.AsFloat64(tag.Value)
	if tag.ID != epochTag || err != nil {
		return tag
	}
	return epoch(seconds)
}

func (cborProtocol) write(h http.Header, _ *call, result any) ([]byte, error) {
	markCBOR(h)
	return cbor.Encode(toCBOR(result)), nil
}

func (cborProtocol) refuse(h http.Header, c *call, e *control.Error) []byte {
	markCBOR(h)
	noteQueryError(h, c.service, e)
	return cbor.Encode(cbor.Map{
		"__type":  cbor.String(c.service.shape(e.Code)),
		"message": cbor.String(strings.ToValidUTF8(e.Message, "\uFFFD")),
	})
}

func markCBOR(h http.Header) {
	h.Set("Content-Type", cborMedia)
	h.Set("Smithy-Protocol", cborName)
}

func toCBOR(v any) cbor.Value {
	switch v := v.(type) {
	case record:
		fields := make(cbor.Map, len(v))
		for _, f := range v {
			fields[f.name] = toCBOR(f.value)
		}
		return fields
	case []any:
		return cbor.List(listOf(v))
	case string:
		return cbor.String(v)
	case bool:
		return cbor.Bool(v)
	case float64:
		return cbor.Float64(v)
	case time.Time:
		return &cbor.Tag{ID: 1, Value: cbor.Float64(float64(v.UnixMilli()) / 1e3)}
	}
	panic(fmt.Sprintf("a record has no values of type %T", v))
}

func listOf(items []any) []cbor.Value {
	all := make([]cbor.Value, 0, len(items))
	for _, item := range items {
		all = append(all, toCBOR(item))
	}
	return all
}
