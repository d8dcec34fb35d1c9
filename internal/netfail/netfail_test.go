package netfail

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// Each kind is a failure of a real connection on loopback, wrapped as drivers
// wrap them.
func TestEachFailureIsOfItsKind(t *testing.T) {
	kinds := []struct {
		name string
		is   func(error) bool
	}{{"DNS", DNS}, {"TLS", TLS}, {"Refused", Refused}, {"Timeout", Timeout}, {"Reset", Reset}}
	for _, c := range []struct {
		want string
		err  error
	}{
		{"DNS", dial("no..such.host:1")}, // no legal name: refused by the resolver without asking anybody
		{"TLS", handshakeWithPlainServer(t)},
		{"Refused", dial(closedPort(t))},
		{"Timeout", readInTime(t)},
		{"Reset", readFromClosed(t)},
	} {
		t.Run(c.want, func(t *testing.T) {
			err := fmt.Errorf("get: %w", c.err)
			for _, k := range kinds {
				if k.is(err) {
					if k.name != c.want {
						t.Fatalf("%v is %s, want %s", err, k.name, c.want)
					}
					return // the first kind that fits names the failure
				}
			}
			t.Fatalf("%v is of no kind, want %s", err, c.want)
		})
	}
}

func dial(addr string) error {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err == nil {
		conn.Close()
	}
	return err
}

// listen accepts one connection and hands it to serve.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if conn, err := l.Accept(); err == nil {
			serve(conn)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func connect(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func handshakeWithPlainServer(t *testing.T) error {
	addr := listen(t, func(c net.Conn) {
		fmt.Fprint(c, "-ERR unknown command\r\n")
		c.Close()
	})
	return tls.Client(connect(t, addr), &tls.Config{ServerName: "localhost"}).Handshake()
}

func readInTime(t *testing.T) error {
	release := make(chan struct{})
	addr := listen(t, func(c net.Conn) {
		<-release
		c.Close()
	})
	t.Cleanup(func() { close(release) }) // before listen's, which waits for it
	conn := connect(t, addr)
	conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}

func readFromClosed(t *testing.T) error {
	conn := connect(t, listen(t, func(c net.Conn) { c.Close() }))
	_, err := io.ReadFull(conn, make([]byte, 1))
	return err
}
