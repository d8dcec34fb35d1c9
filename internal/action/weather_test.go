package action_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// weather stands between a client and the local API, and is fair until told otherwise.
type weather struct {
	*httptest.Server
	backend string

	mu     sync.Mutex
	down   bool                       // connections are cut
	lost   string                     // of this action no request arrives
	silent string                     // of this action the request arrives, and the answer does not
	edit   func(answer string) string // nil = as it is
	count  map[string]int             // requests by action
}

func newWeather(t *testing.T, backend string) *weather {
	t.Helper()
	w := &weather{backend: backend, count: map[string]int{}}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

// asked is how many requests of an action have come.
func (w *weather) asked(action string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count[action]
}

func (w *weather) set(change func(*weather)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

func (w *weather) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	name := form.Get("Action")
	w.mu.Lock()
	w.count[name]++
	cut, silent, edit := w.down || w.lost != "" && w.lost == name, w.silent != "" && w.silent == name, w.edit
	w.mu.Unlock()
	if err != nil || cut {
		panic(http.ErrAbortHandler)
	}
	answer, text, err := w.pass(r, body)
	if err != nil || silent {
		panic(http.ErrAbortHandler)
	}
	if edit != nil {
		text = edit(text)
	}
	for name, values := range answer.Header {
		if name != "Content-Length" {
			rw.Header()[name] = values
		}
	}
	rw.WriteHeader(answer.StatusCode)
	_, _ = io.WriteString(rw, text)
}

// pass hands a request on.
func (w *weather) pass(r *http.Request, body []byte) (*http.Response, string, error) {
	to, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, w.backend+r.URL.RequestURI(), bytes.NewReader(body))
	if r.URL.IsAbs() { // as to a proxy
		to, err = http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method, w.backend+r.URL.Path, bytes.NewReader(body))
	}
	if err != nil {
		return nil, "", err
	}
	to.Header = r.Header.Clone()
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(to)
	if err != nil {
		return nil, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer, string(text), err
}

var oneEvent = regexp.MustCompile(`(?s)<Event>.*?</Event>`)

// without drops the events that contain one of the texts.
func without(texts ...string) func(string) string {
	return func(answer string) string {
		return oneEvent.ReplaceAllStringFunc(answer, func(event string) string {
			for _, text := range texts {
				if strings.Contains(event, text) {
					return ""
				}
			}
			return event
		})
	}
}

// replace edits an answer.
func replace(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }
