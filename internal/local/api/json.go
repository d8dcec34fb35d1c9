package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/rankbench/rankbench/internal/local/control"
)

// jsonProtocol is AWS JSON 1.0 (CloudWatch) and 1.1 (CloudTrail), which differ in
// nothing but their content type. Source: the Smithy specifications of
// aws.protocols#awsJson1_0 and awsJson1_1.
type jsonProtocol struct {
	version string // of the request, for refusals before the service is known
}

const jsonMedia = "application/x-amz-json-"

// jsonVersion is the version that a content type asks for.
func jsonVersion(media string) string {
	if media == jsonMedia+"1.0" {
		return "1.0"
	}
	return "1.1"
}

func (jsonProtocol) accepts(r *http.Request) error {
	if err := acceptMethods(r, http.MethodPost); err != nil {
		return err
	}
	if r.URL.Path != "/" && r.URL.Path != "" {
		return unknownOperation(http.StatusNotFound, r.URL.Path)
	}
	return nil
}

func (jsonProtocol) read(services []*service, r *http.Request, body []byte, c *call) error {
	target := r.Header.Get("X-Amz-Target")
	dot := strings.LastIndexByte(target, '.')
	speaks := func(s *service) bool { return s.json != "" }
	if dot < 0 || !c.choose(services, unqualified(target[:dot]), target[dot+1:], speaks) {
		return unknownOperation(http.StatusBadRequest, target)
	}
	fields, err := decodeJSON(body)
	if err != nil {
		return err
	}
	c.args = typedArgs(fields, c.service.dialect)
	return nil
}

// unqualified is the service's name without the package in front of it: botocore
// sends com.amazonaws.cloudtrail.v20131101.CloudTrail_20131101, the SDK for Go
// only the last part.
func unqualified(target string) string {
	return target[strings.LastIndexByte(target, '.')+1:]
}

func decodeJSON(body []byte) (map[string]any, error) {
	fields := map[string]any{}
	if len(bytes.TrimSpace(body)) == 0 {
		return fields, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, refuse(codeSerialization, "The body is not a JSON object.")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, refuse(codeSerialization, "Something follows the JSON object.")
	}
	return fields, nil
}

func (p jsonProtocol) write(h http.Header, c *call, result any) ([]byte, error) {
	h.Set("Content-Type", p.contentType(c))
	return json.Marshal(result)
}

func (p jsonProtocol) refuse(h http.Header, c *call, e *control.Error) []byte {
	h.Set("Content-Type", p.contentType(c))
	noteQueryError(h, c.service, e)
	body, err := json.Marshal(map[string]string{"__type": c.service.shape(e.Code), "message": e.Message})
	if err != nil {
		panic(err) // strings can always be written
	}
	return body
}

func (p jsonProtocol) contentType(c *call) string {
	if c.service != nil {
		return jsonMedia + c.service.json
	}
	return jsonMedia + p.version
}

// MarshalJSON writes the fields in their order.
func (r record) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range r {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(jsonValue(f.value))
		if err != nil {
			return nil, err
		}
		b.Write(append(append(name, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// jsonValue is a value as AWS JSON writes it: times are seconds since 1970.
func jsonValue(v any) any {
	switch v := v.(type) {
	case time.Time:
		return float64(v.UnixMilli()) / 1e3
	case []any:
		all := make([]any, len(v))
		for i, item := range v {
			all[i] = jsonValue(item)
		}
		return all
	}
	return v
}
