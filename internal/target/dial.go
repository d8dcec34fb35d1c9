package target

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/rankbench/rankbench/internal/config"
)

// Resolver returns one that asks the DNS server at addr alone, by Go's own
// resolver: each lookup is a question, nothing is kept. As with the system's,
// lookups of a name that are made at the same moment share one answer, and a
// name in the hosts file is not asked for. For "" it returns nil, which is the
// system's resolver.
func Resolver(addr string) *net.Resolver {
	if addr == "" {
		return nil
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			// A lookup that was given up would still wait for its answer, 5 s and
			// more. The connection itself is returned: by its type Go knows how to ask.
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}}
}

// dialFunc is what the driver takes as a dialler.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialOf returns the dialler of a config's profile; nil is the driver's own.
func dialOf(cfg *config.Config, tc *tls.Config, timeout time.Duration) dialFunc {
	names := Resolver(cfg.Target.Resolver)
	if cfg.Client.Profile == config.DriverDefaults {
		return driversDial(names, tc, timeout)
	}
	return dialer{tc, timeout, names}.dial
}

// dialer makes the connections of the tuned and raw profiles. It returns them
// wrapped, so that the driver does not peek at the socket before each command:
// three allocations and a system call a command, for noticing a closed
// connection one command earlier (with TLS the driver never could).
type dialer struct {
	tls      *tls.Config
	timeout  time.Duration
	resolver *net.Resolver
}

func (d dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	nd := &net.Dialer{Timeout: d.timeout, KeepAlive: 5 * time.Minute, Resolver: d.resolver}
	if d.tls == nil {
		conn, err := nd.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return struct{ net.Conn }{conn}, nil
	}
	conn, err := (&tls.Dialer{NetDialer: nd, Config: d.tls}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return struct{ net.Conn }{conn}, nil
}

// driverDialTimeout is what the driver makes of a DialTimeout of 0.
const driverDialTimeout = 5 * time.Second

// driverKeepAlive is the driver's, which it does not export (go-redis 9.23,
// options.go, defaultKeepAliveConfig).
var driverKeepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}

// driversDial dials as the driver does by itself (redis.NewDialer, which takes no
// resolver), but for who is asked for names: the same timeout and keepalive, no
// wrapper, and a TLS handshake that does not heed the context. Without a
// resolver of its own it is nil, so that the driver's is used.
func driversDial(names *net.Resolver, tc *tls.Config, timeout time.Duration) dialFunc {
	if names == nil {
		return nil
	}
	if timeout == 0 {
		timeout = driverDialTimeout
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		nd := &net.Dialer{Timeout: timeout, KeepAliveConfig: driverKeepAlive, Resolver: names}
		if tc == nil {
			return nd.DialContext(ctx, network, addr)
		}
		return tls.DialWithDialer(nd, network, addr, tc)
	}
}
