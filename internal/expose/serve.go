package expose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A scrape is one small request; these bound what a client that means no good can hold up.
const (
	readTimeout  = 5 * time.Second
	writeTimeout = 30 * time.Second
	idleTimeout  = 2 * time.Minute
	// lastScrape is how long a scrape that runs at the end of the run may take.
	lastScrape = 2 * time.Second
)

const index = "rankbench: metrics are at /metrics\n"

// Listen binds addr (host:port; port 0 is any free one, see Addr of the
// listener). The error names the address.
func Listen(addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for metrics on %s: %w", addr, err)
	}
	return ln, nil
}

// Serve answers on ln until ctx ends, then lets scrapes under way finish, for 2 s
// at most, and returns nil. It closes ln. Paths: /metrics, /healthz, and / with a
// line of text.
func (e *Exporter) Serve(ctx context.Context, ln net.Listener) error {
	server := e.server()
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { stopped <- shutDown(ctx, server) })
	err := server.Serve(ln)
	if stop() {
		return fmt.Errorf("serve metrics on %s: %w", ln.Addr(), err)
	}
	return <-stopped
}

func shutDown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastScrape)
	defer cancel()
	if err := server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}

func (e *Exporter) server() *http.Server {
	return &http.Server{
		Handler:           e.handler(),
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          log.New(io.Discard, "", 0), // a client's broken connection is not the run's news
	}
}

func (e *Exporter) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(e.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, // one bad metric must not hide the others …
		Registry:      e.registry,               // … and is counted
	}))
	mux.HandleFunc("GET /healthz", text("ok\n"))
	mux.HandleFunc("GET /{$}", text(index))
	return mux
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, s) // the client has gone: nobody to tell
	}
}
