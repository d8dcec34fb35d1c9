package observe

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// errSpent is what a session's client gets when it wants a second connection.
var errSpent = errors.New("the session's connection is spent")

// session is one connection with a client that speaks Redis on it.
//
// The connection is dialled here and handed to go-redis, whose pool would log
// every failed dial, would dial on after the caller has gone, and after a
// failed dial would answer from memory for up to a second, which would be
// added to each downtime seen. So a session lives as long as its connection.
type session struct {
	client *redis.Client
	conn   net.Conn
}

// dial connects within ctx. The handshake (HELLO, AUTH) goes with the first command.
func dial(ctx context.Context, addr string, o Options) (*session, error) {
	conn, err := dialConn(ctx, addr, o)
	if err != nil {
		return nil, err
	}
	return &session{client: redis.NewClient(clientOptions(addr, conn, o)), conn: conn}, nil
}

func dialConn(ctx context.Context, addr string, o Options) (net.Conn, error) {
	d := &net.Dialer{Resolver: o.Resolver}
	if o.TLS == nil {
		return d.DialContext(ctx, "tcp", addr)
	}
	// Without a ServerName of its own the dialler takes the host it dials.
	return (&tls.Dialer{NetDialer: d, Config: o.TLS}).DialContext(ctx, "tcp", addr)
}

func clientOptions(addr string, conn net.Conn, o Options) *redis.Options {
	return &redis.Options{
		Addr:                       addr,
		Dialer:                     handOver(conn),
		Username:                   o.Username,
		Password:                   o.Password,
		CredentialsProviderContext: o.Credentials,
		Protocol:                   2, // no pushes, and INFO is plain text
		ReadTimeout:                o.Timeout,
		WriteTimeout:               o.Timeout,
		DialTimeout:                o.Timeout,
		PoolTimeout:                o.Timeout,
		ContextTimeoutEnabled:      true, // the round's deadline bounds every read
		PoolSize:                   1,
		PipelinePoolSize:           -1,
		MaxRetries:                 -1,
		DialerRetries:              1,
		ConnMaxIdleTime:            -1,
		DisableIdentity:            true,
		MaintNotificationsConfig:   &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// handOver returns a dialler that gives conn once. The wrapper hides the socket
// from go-redis, which would look for a closed one before each use and dial again.
func handOver(conn net.Conn) func(context.Context, string, string) (net.Conn, error) {
	ready := make(chan net.Conn, 1)
	ready <- struct{ net.Conn }{conn}
	return func(context.Context, string, string) (net.Conn, error) {
		select {
		case c := <-ready:
			return c, nil
		default:
			return nil, errSpent
		}
	}
}

// close does not wait for a peer that hangs: TLS would, for its closing alert.
func (s *session) close() error {
	err := s.conn.SetDeadline(time.Now())
	if e := s.client.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
		err = errors.Join(err, e)
	}
	if e := s.conn.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
		err = errors.Join(err, e)
	}
	return err
}
