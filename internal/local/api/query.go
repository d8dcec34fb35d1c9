package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/local/control"
)

// queryProtocol is AWS Query: parameters as a form, answers in XML. Source: the
// Smithy specification of aws.protocols#awsQuery, and what botocore sends.
type queryProtocol struct{}

func (queryProtocol) accepts(r *http.Request) error {
	if err := acceptMethods(r, http.MethodPost, http.MethodGet); err != nil {
		return err
	}
	if r.URL.Path != "/" && r.URL.Path != "" {
		return unknownOperation(http.StatusNotFound, r.URL.Path)
	}
	return nil
}

func (queryProtocol) read(services []*service, r *http.Request, body []byte, c *call) error {
	form, err := parseForm(r, body)
	if err != nil {
		return err
	}
	s, err := serviceOfVersion(services, form)
	if err != nil {
		return err
	}
	fields, err := grow(form)
	if err != nil {
		return err
	}
	c.service, c.action = s, form["Action"]
	c.given, c.args = form, queryArgs(fields, s.dialect)
	return nil
}

// parseForm reads the parameters of query string and body. Of a parameter that
// comes twice the first counts.
func parseForm(r *http.Request, body []byte) (map[string]string, error) {
	text := r.URL.RawQuery
	if media := mediaType(r); media == "" || media == "application/x-www-form-urlencoded" {
		text += "&" + strings.TrimSpace(string(body))
	}
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, refuseWith(http.StatusNotFound, codeBadQuery, "The query string contains a syntax error.")
	}
	form := make(map[string]string, len(values))
	for name, all := range values {
		form[name] = all[0]
	}
	return form, nil
}

// serviceOfVersion chooses by the version of the API, since no two services here
// share one, and no client sends its service otherwise than in its signature.
func serviceOfVersion(services []*service, form map[string]string) (*service, error) {
	name, version := form["Action"], form["Version"]
	if name == "" {
		return nil, refuse(codeMissingAction, "The request is missing an action or a required parameter: Action.")
	}
	if version == "" {
		version = "NO_VERSION_SPECIFIED"
	}
	for _, s := range services {
		if _, known := s.actions[name]; known && s.version == version {
			return s, nil
		}
	}
	return nil, refuse(codeInvalidAction, "Could not find operation %s for version %s in this local ElastiCache.", shown(name), shown(version))
}

// grow makes the structure of a form: A.B.1.C is field C of item 1 of list A.
func grow(form map[string]string) (map[string]any, error) {
	const deepest = 16
	tree := map[string]any{}
	for name, value := range form {
		parts := strings.Split(name, ".")
		if len(parts) > deepest || slices.Contains(parts, "") || !plant(tree, parts, raw(value)) {
			return nil, refuse(codeBadParameter, "The parameter %q is malformed.", shown(name))
		}
	}
	return tree, nil
}

// plant puts a value into the tree; false if a name would be both a value and a
// structure.
func plant(tree map[string]any, parts []string, value raw) bool {
	for _, part := range parts[:len(parts)-1] {
		if tree[part] == nil {
			tree[part] = map[string]any{}
		}
		branch, ok := tree[part].(map[string]any)
		if !ok {
			return false
		}
		tree = branch
	}
	last := parts[len(parts)-1]
	if tree[last] != nil {
		return false
	}
	tree[last] = value
	return true
}

func (queryProtocol) write(h http.Header, c *call, result any) ([]byte, error) {
	h.Set("Content-Type", "text/xml")
	return resultXML(c, result)
}

func (queryProtocol) refuse(h http.Header, c *call, e *control.Error) []byte {
	h.Set("Content-Type", "text/xml")
	return errorXML(c, e)
}
