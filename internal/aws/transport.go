package aws

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// answerTimeout is how long a server may take to begin its answer. The SDK sets
// no limit. ElastiCache answers within a second or two.
const answerTimeout = 30 * time.Second

// transports returns one that keeps connections, for what is asked every few
// seconds, and one that takes a new connection for each call. A connection that
// the server is just about to close takes a request and never answers: for a
// call that changes something that would be a doubt without need.
//
// Both are made of the transport that the configuration has prepared, which
// knows AWS_CA_BUNDLE.
func transports(cfg aws.Config) (keep, once *http.Transport) {
	built, ok := cfg.HTTPClient.(*awshttp.BuildableClient)
	if !ok {
		built = awshttp.NewBuildableClient()
	}
	keep = built.GetTransport()
	keep.ResponseHeaderTimeout = answerTimeout
	once = keep.Clone()
	once.DisableKeepAlives = true
	return keep, once
}

// httpClient sends by t, from a copy of the body, and sets the clock. It follows
// no redirects: AWS sends none, and they would lead signed requests elsewhere.
func (c *Client) httpClient(t *http.Transport) HTTPClient {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return timed{WholeBody(&http.Client{Transport: t, CheckRedirect: stay}), c.clock}
}

// timed sets the clock by what it has sent.
type timed struct {
	HTTPClient
	clock *clock
}

func (t timed) Do(r *http.Request) (*http.Response, error) {
	sent := time.Now()
	answer, err := t.HTTPClient.Do(r)
	if err == nil {
		t.clock.hear(sent, time.Now(), answer.Header.Get("Date"))
	}
	return answer, err
}

// sending is what is known of one request of a call that changes something.
type sending struct {
	began  atomic.Bool  // there was a connection to send it on
	status atomic.Int32 // of the answer; 0 = none
}

type sendingKey struct{}

// withSending has the request of a call report to s.
func withSending(ctx context.Context, s *sending) context.Context {
	return context.WithValue(ctx, sendingKey{}, s)
}

// noteSent reports requests to the sending of their context.
func noteSent(c HTTPClient) HTTPClient { return noting{c} }

type noting struct{ HTTPClient }

func (n noting) Do(r *http.Request) (*http.Response, error) {
	s, ok := r.Context().Value(sendingKey{}).(*sending)
	if !ok {
		return n.HTTPClient.Do(r)
	}
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { s.began.Store(true) }}
	answer, err := n.HTTPClient.Do(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err == nil {
		s.status.Store(int32(answer.StatusCode))
	}
	return answer, err
}

// doubtful reports whether a call that failed may have happened all the same:
// once there was a connection, only a clear refusal says that it has not. 408 is
// the one such status that says nothing about it.
func (s *sending) doubtful() bool {
	status := s.status.Load()
	refused := status >= 300 && status < 500 && status != http.StatusRequestTimeout
	return s.began.Load() && !refused
}
