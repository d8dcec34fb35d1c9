package aws

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// HTTPClient is aws.HTTPClient of the SDK.
type HTTPClient interface {
	Do(*http.Request) (*http.Response, error)
}

// WholeBody makes c send each request's body from a copy. smithy-go closes the
// body as soon as an answer has come (transport/http/client.go, Handle), at which
// time net/http may still be looking for the body's end. It then closes the
// connection, and the answer is lost to "use of closed network connection":
// https://github.com/aws/aws-sdk-go-v2/issues/1825.
func WholeBody(c HTTPClient) HTTPClient { return wholeBody{c} }

type wholeBody struct{ HTTPClient }

func (w wholeBody) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		return w.HTTPClient.Do(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	r = r.WithContext(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return w.HTTPClient.Do(r)
}
