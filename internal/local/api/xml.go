package api

import (
	"bytes"
	"encoding/xml"
	"strconv"
	"time"

	"github.com/rankbench/rankbench/internal/local/control"
)

// faultNamespace is that of refusals before the service is known.
const faultNamespace = "http://webservices.amazon.com/AWSFault/2005-15-09"

// resultXML is the answer to action X: XResponse, in it XResult, which must be
// there even if it is empty, and the request id.
func resultXML(c *call, result any) ([]byte, error) {
	var b bytes.Buffer
	e := xml.NewEncoder(&b)
	response := xml.StartElement{Name: xml.Name{Space: c.service.namespace, Local: c.action + "Response"}}
	metadata := struct {
		RequestID string `xml:"RequestId"`
	}{c.requestID}
	w := xmlWriter{encoder: e}
	w.token(response)
	w.element(c.action+"Result", result)
	w.element("ResponseMetadata", metadata)
	w.token(response.End())
	if w.err == nil {
		w.err = e.Close()
	}
	return b.Bytes(), w.err
}

// xmlWriter keeps the first error of an encoder.
type xmlWriter struct {
	encoder *xml.Encoder
	err     error
}

func (w *xmlWriter) token(t xml.Token) {
	if w.err == nil {
		w.err = w.encoder.EncodeToken(t)
	}
}

func (w *xmlWriter) element(name string, v any) {
	if w.err == nil {
		w.err = w.encoder.EncodeElement(v, xml.StartElement{Name: xml.Name{Local: name}})
	}
}

// MarshalXML writes the fields as elements, and the items of lists as "member".
func (r record) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	w := xmlWriter{encoder: e}
	w.token(start)
	for _, f := range r {
		w.value(f.name, f.value)
	}
	w.token(start.End())
	return w.err
}

func (w *xmlWriter) value(name string, v any) {
	switch v := v.(type) {
	case []any:
		start := xml.StartElement{Name: xml.Name{Local: name}}
		w.token(start)
		for _, item := range v {
			w.value("member", item)
		}
		w.token(start.End())
	case time.Time:
		w.element(name, stamp(v))
	case float64:
		w.element(name, strconv.FormatFloat(v, 'g', -1, 64))
	default:
		w.element(name, v)
	}
}

// stamp is a date as AWS writes it in XML, "" if there is none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// errorXML is a refusal. Source: the same as of queryProtocol.
func errorXML(c *call, e *control.Error) []byte {
	type refusal struct {
		Type    string
		Code    string
		Message string
	}
	namespace := faultNamespace
	if c.service != nil {
		namespace = c.service.namespace
	}
	body, err := xml.Marshal(struct {
		XMLName   xml.Name
		Error     refusal
		RequestID string `xml:"RequestId"`
	}{
		XMLName:   xml.Name{Space: namespace, Local: "ErrorResponse"},
		Error:     refusal{errorType(e), e.Code, e.Message},
		RequestID: c.requestID,
	})
	if err != nil {
		panic(err) // strings can always be written
	}
	return body
}
