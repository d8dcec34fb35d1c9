package expose

import (
	"context"
	"io"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rankbench/rankbench/internal/httpd"
)

const (
	index = "rankbench: metrics are at /metrics\n"
	what  = "metrics" // in errors
)

// Listen binds addr (host:port; port 0 is any free one, see Addr of the
// listener). The error names the address.
func Listen(addr string) (net.Listener, error) { return httpd.Listen(addr, what) }

// Serve answers on ln until ctx ends, then lets scrapes under way finish, for 2 s
// at most, and returns nil. It closes ln. Paths: /metrics, /healthz, and / with a
// line of text.
func (e *Exporter) Serve(ctx context.Context, ln net.Listener) error {
	return httpd.Serve(ctx, ln, e.handler(), what)
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
