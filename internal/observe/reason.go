package observe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// reason is the short text for why a node did not answer, in the words of the
// load's error classes. The particular is asked before the general: a lookup
// that timed out is dns, not timeout.
func reason(err error) string {
	for _, c := range []struct {
		text string
		is   func(error) bool
	}{
		{"auth", isAuth},
		{"loading", redis.IsLoadingError},
		{"dns", isDNS},
		{"tls", isTLS},
		{"refused", isRefused},
		{"timeout", isTimeout},
		{"reset", isReset},
	} {
		if c.is(err) {
			return c.text
		}
	}
	return firstLine(err)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func isAuth(err error) bool { return redis.IsAuthError(err) || redis.IsPermissionError(err) }

func isDNS(err error) bool {
	var e *net.DNSError
	return errors.As(err, &e)
}

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &verify) ||
		errors.As(err, &unknown) || errors.As(err, &host)
}

func isRefused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, syscall.ETIMEDOUT) || errors.As(err, &e) && e.Timeout()
}

func isReset(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) || errors.Is(err, errSpent)
}
