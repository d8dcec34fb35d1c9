package api

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestOnlyLoopbackHostsAreAnswered(t *testing.T) {
	l := startLocal(t)
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:80": 200, "127.1.2.3:7000": 200, "localhost": 200, "LocalHost:1": 200, "[::1]:5": 200, "[::1]": 200,
		"[::ffff:127.0.0.1]:1": 200,
		"evil.example":         403, "evil.example:80": 403, "10.0.0.1": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403,
		"0.0.0.0": 403, "[::]": 403, "elasticache.us-east-1.amazonaws.com": 403,
	} {
		response, body := l.send(t, "POST", "/", "Action=DescribeEvents&Version=2015-02-02", form, "Host: "+host)
		if response.StatusCode != want || want == 403 && !strings.Contains(body, "<Code>AccessDenied</Code>") {
			t.Errorf("%s: %d %s", host, response.StatusCode, body)
		}
	}
}

func TestWebPagesAreRefused(t *testing.T) {
	for _, row := range []struct {
		header string
		status int
	}{
		{"Origin: http://evil.example", 403},
		{"Origin: http://127.0.0.1:8080", 403},
		{"Origin: null", 403},
		{"Sec-Fetch-Site: cross-site", 403},
		{"Sec-Fetch-Site: same-site", 403},
		{"Sec-Fetch-Site: none", 200}, // typed into the address bar
	} {
		l := startLocal(t)
		response, _ := l.send(t, "GET", "/?Action=DeleteReplicationGroup&Version=2015-02-02&ReplicationGroupId=lb", "", row.header)
		if asked := l.plane.asked != nil; response.StatusCode != row.status || asked != (row.status == 200) {
			t.Errorf("%s: %d, asked %v", row.header, response.StatusCode, l.plane.asked)
		}
	}
}

func TestServeRefusesWhatIsNotOnLoopback(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = Serve(t.Context(), everywhere{l}, http.NotFoundHandler())
	if err == nil || err.Error() != "serve the API on 0.0.0.0:80: not a loopback address" {
		t.Error(err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}

// everywhere is a listener that says it is on all addresses, without being.
type everywhere struct{ net.Listener }

func (everywhere) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero, Port: 80} }

func TestServeLetsCallsUnderWayFinish(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	arrived, finish := make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-finish
		w.WriteHeader(http.StatusTeapot)
	})
	ctx, stop := context.WithCancel(t.Context())
	ended, answered := make(chan error, 1), make(chan int, 1)
	go func() { ended <- Serve(ctx, l, h) }()
	go func() {
		response, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			answered <- 0
			return
		}
		response.Body.Close()
		answered <- response.StatusCode
	}()
	<-arrived
	stop()
	waitRefused(t, l.Addr().String())
	close(finish)
	if status, err := <-answered, <-ended; status != http.StatusTeapot || err != nil {
		t.Errorf("%d, %v", status, err)
	}
}

// waitRefused waits until nothing listens at an address any more.
func waitRefused(t *testing.T, address string) {
	t.Helper()
	limit := time.After(10 * time.Second)
	for {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return
		}
		c.Close()
		select {
		case <-limit:
			t.Fatal("still listening")
		case <-time.After(time.Millisecond):
		}
	}
}

func TestServeReportsABrokenListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := Serve(t.Context(), l, http.NotFoundHandler()); err == nil || !strings.HasPrefix(err.Error(), "serve the API: ") {
		t.Error(err)
	}
}
