package live

import (
	"context"
	"fmt"
	"net"

	"github.com/rankbench/rankbench/internal/httpd"
)

const what = "the live page" // in errors

// Listen binds addr (host:port; port 0 is any free one, see Addr of the listener);
// without a host it is loopback. The error names the address.
func Listen(addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen for %s on %s: %w", what, addr, err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return httpd.Listen(net.JoinHostPort(host, port), what)
}

// Serve answers on ln, which was asked for as addr, until ctx ends; then it waits 2 s
// at most for streams to end. It closes ln.
func (p *Page) Serve(ctx context.Context, ln net.Listener, addr string) error {
	return httpd.Serve(ctx, ln, p.Handler(addr), what)
}
