package api

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/local/control"
)

// protocol is one of the ways in which AWS's clients put a call on the wire.
type protocol interface {
	// accepts refuses methods and paths that the protocol does not have.
	accepts(*http.Request) error
	// read fills in service, action and args of the call.
	read(services []*service, r *http.Request, body []byte, c *call) error
	// write is the body of an answer; its headers go to h.
	write(h http.Header, c *call, result any) ([]byte, error)
	// refuse is the body of a refusal; the call may not be known.
	refuse(h http.Header, c *call, e *control.Error) []byte
}

// protocolOf tells the protocols apart: CBOR is the one with a path, JSON names
// its operation in a header, and Query is whatever is left, as with AWS.
func protocolOf(r *http.Request) protocol {
	media := mediaType(r)
	switch {
	case strings.HasPrefix(r.URL.Path, "/service/"), r.Header.Get("Smithy-Protocol") != "":
		return cborProtocol{}
	case r.Header.Get("X-Amz-Target") != "", strings.HasPrefix(media, jsonMedia):
		return jsonProtocol{version: jsonVersion(media)}
	}
	return queryProtocol{}
}

// mediaType is the content type without its parameters: the AWS CLI adds a
// charset, the SDKs do not.
func mediaType(r *http.Request) string {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

func acceptMethods(r *http.Request, methods ...string) error {
	if slices.Contains(methods, r.Method) {
		return nil
	}
	return refuseWith(http.StatusMethodNotAllowed, "MethodNotAllowed", "The method %s is not allowed here; use %s.",
		shown(r.Method), strings.Join(methods, " or "))
}

// choose sets service and action by the name in front of the action in JSON and
// CBOR. Nothing is set unless both are known.
func (c *call) choose(services []*service, target, name string, speaks func(*service) bool) bool {
	for _, s := range services {
		if _, known := s.actions[name]; s.target == target && known && speaks(s) {
			c.service, c.action = s, name
			return true
		}
	}
	return false
}

// unknownOperation is the refusal of JSON and CBOR; it does not say which of
// service and action is unknown, as with AWS.
func unknownOperation(status int, name string) error {
	return refuseWith(status, codeUnknown, "This local ElastiCache has no operation %q.", shown(name))
}

// shape is the name by which JSON and CBOR know the code of a refusal.
func (s *service) shape(code string) string {
	if s == nil {
		return code
	}
	if name, differs := s.shapes[code]; differs {
		return name
	}
	return code
}

// noteQueryError tells clients of a service that used to speak Query the code
// they knew before: for them it goes before the name of the shape.
// Source: the trait aws.protocols#awsQueryCompatible of Smithy.
func noteQueryError(h http.Header, s *service, e *control.Error) {
	if s != nil && s.version != "" {
		h.Set("x-amzn-query-error", e.Code+";"+errorType(e))
	}
}
