package aws

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

// closable is a body that cannot be read once it is closed.
type closable struct {
	io.Reader
	closed bool
}

func (c *closable) Read(p []byte) (int, error) {
	if c.closed {
		return 0, errors.New("read after Close")
	}
	return c.Reader.Read(p)
}

func (c *closable) Close() error { c.closed = true; return nil }

func TestABodyThatIsClosedEarlyIsSentWhole(t *testing.T) {
	var sent io.Reader
	client := WholeBody(doer(func(r *http.Request) (*http.Response, error) {
		sent = r.Body
		return &http.Response{}, nil
	}))
	body := &closable{Reader: strings.NewReader("Action=TestFailover")}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1", body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(r); err != nil {
		t.Fatal(err)
	}
	if err := r.Body.Close(); err != nil || !body.closed {
		t.Fatalf("the request's own body was replaced: %v", err)
	}
	if got, err := io.ReadAll(sent); err != nil || string(got) != "Action=TestFailover" {
		t.Errorf("sent %q (%v)", got, err)
	}
}

func TestABodyThatBreaksOffIsNotSent(t *testing.T) {
	client := WholeBody(doer(func(*http.Request) (*http.Response, error) {
		t.Error("sent")
		return nil, errors.ErrUnsupported
	}))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1", &closable{closed: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(r); err == nil || !strings.Contains(err.Error(), "read after Close") {
		t.Errorf("error %v", err)
	}
}

func TestNoBodyStaysNone(t *testing.T) {
	client := WholeBody(doer(func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			t.Error("a body")
		}
		return &http.Response{}, nil
	}))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(r); err != nil {
		t.Fatal(err)
	}
}
