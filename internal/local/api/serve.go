package api

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

// The limits of a connection. A call is answered in milliseconds, except that a
// group may be created before CreateReplicationGroup answers.
const (
	headerTimeout   = 10 * time.Second
	readTimeout     = 30 * time.Second
	writeTimeout    = 5 * time.Minute
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 5 * time.Second
	headerLimit     = 64 << 10
)

// Serve answers on l with h until ctx ends, then lets the calls under way finish,
// for at most five seconds. It closes l. A listener that is not on loopback is
// refused, since callers are not verified. The end of ctx is no error.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	if !onLoopback(l.Addr()) {
		address := l.Addr()
		return errors.Join(fmt.Errorf("serve the API on %s: not a loopback address", address), l.Close())
	}
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerLimit,
		// net/http's own lines are about connections that broke off
		ErrorLog: log.New(io.Discard, "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the API: %w", err)
	case <-ctx.Done():
	}
	err := shutDown(ctx, server)
	if cause := <-ended; !errors.Is(cause, http.ErrServerClosed) {
		err = errors.Join(err, cause)
	}
	return err
}

func shutDown(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("end the API: calls did not finish: %w", err), server.Close())
	}
	return nil
}

func onLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
