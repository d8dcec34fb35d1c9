// Package netfail tells what kind of failure a connection met: by the types of
// the standard library and the system, never by text. It is a leaf; the load's
// driver and the observer name failures alike through it.
//
// The kinds overlap (a lookup that timed out is DNS and Timeout): ask for the
// particular before the general, in the order of the functions here.
package netfail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// DNS says that the name did not resolve.
func DNS(err error) bool {
	var e *net.DNSError
	return errors.As(err, &e)
}

// TLS says that the handshake failed, or the certificate is not the one expected.
func TLS(err error) bool {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var verify *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &verify) ||
		errors.As(err, &unknown) || errors.As(err, &host)
}

// Refused says that nothing listens there, or there is no way to it.
func Refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

// Timeout says that there was no answer in time, of a dial, a read, a write or a context.
func Timeout(err error) bool {
	var e net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, syscall.ETIMEDOUT) || errors.As(err, &e) && e.Timeout()
}

// Reset says that the connection was there and is gone.
func Reset(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
}
