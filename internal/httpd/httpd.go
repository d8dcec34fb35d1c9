// Package httpd answers requests beside a load, until it is told to stop. What it
// bounds is what a client that means no good could hold up.
package httpd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"
)

const (
	readTimeout  = 5 * time.Second
	writeTimeout = 30 * time.Second // of a whole answer, unless its handler sets another
	idleTimeout  = 2 * time.Minute
	// lastAnswers is how long answers under way at the end may take.
	lastAnswers = 2 * time.Second
)

// Listen binds addr (host:port; port 0 is any free one, see Addr of the
// listener). The error names the address and what it was for.
func Listen(addr, what string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for %s on %s: %w", what, addr, err)
	}
	return ln, nil
}

// Serve answers on ln until ctx ends, then lets answers under way finish, for 2 s
// at most, and returns nil. It closes ln.
func Serve(ctx context.Context, ln net.Listener, handler http.Handler, what string) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          log.New(io.Discard, "", 0), // a client's broken connection is not the run's news
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { stopped <- shutDown(ctx, server) })
	err := server.Serve(ln)
	if stop() {
		return fmt.Errorf("serve %s on %s: %w", what, ln.Addr(), err)
	}
	return <-stopped
}

func shutDown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
	defer cancel()
	if err := server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}
