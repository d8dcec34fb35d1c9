package target_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"sync"
	"testing"
)

// listen serves each connection with handle until the test ends. Handle's
// connection is closed when it returns, and when the test ends.
func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, handle)
	return l.Addr().String()
}

func serve(t *testing.T, l net.Listener, handle func(net.Conn)) {
	t.Helper()
	var mu sync.Mutex // guards open, which is nil when the test has ended
	open := map[net.Conn]bool{}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			if open == nil {
				_ = conn.Close()
			} else {
				open[conn] = true
			}
			mu.Unlock()
			wg.Go(func() {
				defer conn.Close()
				handle(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for conn := range open {
			_ = conn.Close()
		}
		open = nil
		mu.Unlock()
		wg.Wait()
	})
}

// tlsProxy speaks TLS before a server that does not, with a certificate for
// 127.0.0.1 that is its own authority.
func tlsProxy(t *testing.T, to string) (addr string, ca *x509.Certificate) {
	t.Helper()
	certs := httptest.NewUnstartedServer(nil)
	certs.StartTLS() // for its certificate only
	tc := &tls.Config{Certificates: certs.TLS.Certificates}
	ca = certs.Certificate()
	certs.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", tc)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, func(conn net.Conn) { pipe(conn, to) })
	return l.Addr().String(), ca
}

// pipe copies both ways until one side ends.
func pipe(conn net.Conn, to string) {
	back, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := io.Copy(back, conn)
		_ = errors.Join(err, back.Close())
	})
	_, _ = io.Copy(conn, back)
	_ = conn.Close()
	wg.Wait()
}
