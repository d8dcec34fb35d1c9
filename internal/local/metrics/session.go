package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/redis/go-redis/v9"
)

// errGone says that there is no such node any more.
var errGone = errors.New("the node is gone")

// errSpent is what a session's client gets when it wants a second connection.
var errSpent = errors.New("the session's connection is spent")

// session is a connection that is kept as long as it answers, with a client that
// speaks Redis on it. The connection is dialled here and handed to go-redis,
// whose pool would log each failed dial and go on dialling by itself.
type session struct {
	addr    string
	connect func(addr string) *redis.Client
	conn    net.Conn
	client  *redis.Client // nil: not connected
}

// ask returns INFO, at the end of ctx at the latest. After an error the next ask
// begins with a new connection.
func (s *session) ask(ctx context.Context) (string, error) {
	if err := s.open(ctx); err != nil {
		return "", fmt.Errorf("connect to %s: %w", s.addr, err)
	}
	cut := make(chan struct{})
	keep := context.AfterFunc(ctx, func() {
		_ = s.conn.Close() // ends what waits for it
		close(cut)
	})
	text, err := s.client.Info(ctx, "everything").Result()
	over := !keep()
	if over {
		<-cut
	}
	if over || err != nil {
		s.hangUp()
	}
	return text, err
}

// open dials as the client that connect makes would, and makes one with its
// settings that has this connection alone.
func (s *session) open(ctx context.Context) error {
	if s.client != nil {
		return nil
	}
	model := s.connect(s.addr)
	if model == nil {
		return errGone
	}
	defer model.Close()
	o := *model.Options()
	conn, err := o.Dialer(ctx, o.Network, o.Addr)
	if err != nil {
		return err
	}
	o.Dialer = handOver(conn)
	o.PoolSize, o.PipelinePoolSize, o.MinIdleConns = 1, -1, 0
	o.MaxRetries, o.DialerRetries, o.ConnMaxIdleTime, o.ConnMaxLifetime = -1, 1, -1, -1
	o.ContextTimeoutEnabled = true
	s.conn, s.client = conn, redis.NewClient(&o)
	return nil
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

// hangUp closes both: the client has the connection only once it was used.
func (s *session) hangUp() {
	if s.client == nil {
		return
	}
	s.client.Close()
	_ = s.conn.Close() // mostly for the second time
	s.client = nil
}
