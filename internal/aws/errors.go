package aws

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// The codes of failures that are not AWS's.
const (
	CodeNoCredentials = "NoCredentials"  // there are none, or they could not be fetched
	CodeUnreachable   = "Unreachable"    // no connection: nothing was sent
	CodeNoAnswer      = "NoAnswer"       // the connection was lost, or time was up
	CodeBadAnswer     = "BadAnswer"      // the answer was not AWS's, or not whole
	CodeBadRequest    = "InvalidRequest" // the SDK refused to send it
	CodeOther         = "Failed"
)

// Error is a call that failed.
type Error struct {
	Code      string // AWS's, as on the wire, or one of the above
	Message   string // AWS's, on one line and without secrets
	Status    int    // HTTP status; 0 = no answer
	RequestID string

	hint  string
	cause error // context.Canceled, context.DeadlineExceeded or nil: the SDK's errors have secrets in their texts
}

func (e *Error) Error() string {
	text := e.Code
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Hint says what to do about it; it may be empty.
func (e *Error) Hint() string { return e.hint }

func (e *Error) Unwrap() error { return e.cause }

// Transient reports whether the same question may be answered a while later:
// who polls goes on.
func (e *Error) Transient() bool {
	switch e.Code {
	case CodeUnreachable, CodeNoAnswer, CodeBadAnswer:
		return !errors.Is(e.cause, context.Canceled)
	}
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || throttled(e.Code)
}

// Code returns the code of err's Error, or "".
func Code(err error) string {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Explain makes an error of the SDK an Error; one that has an Error in it
// already stays as it is, and nil stays nil.
func Explain(err error) error {
	if err == nil || Code(err) != "" {
		return err
	}
	e := classify(err)
	if e.hint == "" {
		e.hint = hint(operation(err), e.Code)
	}
	if e.hint == "" && e.Status >= 500 {
		e.hint = hintServer
	}
	return e
}

// explain is Explain with what was done in front and without our secrets.
func (c *Client) explain(what string, err error) error {
	err = Explain(err)
	if e := (*Error)(nil); errors.As(err, &e) {
		e.Message = c.secrets.strike(e.Message)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func operation(err error) string {
	if op := (*smithy.OperationError)(nil); errors.As(err, &op) {
		return op.Operation()
	}
	return ""
}

func classify(err error) *Error {
	e := &Error{}
	if answer := (*awshttp.ResponseError)(nil); errors.As(err, &answer) {
		e.Status, e.RequestID = answer.HTTPStatusCode(), clean(answer.ServiceRequestID())
	}
	if e.ofContext(err) {
		return e
	}
	var credentials credentialsError
	var api smithy.APIError
	switch {
	case errors.As(err, &credentials):
		e.ofCredentials(credentials)
	case errors.As(err, &api) && api.ErrorCode() != "" && api.ErrorCode() != "UnknownError":
		e.Code, e.Message = clean(api.ErrorCode()), messageOf(api)
	case e.Status != 0:
		e.Code, e.Message = CodeBadAnswer, fmt.Sprintf("HTTP %d %s without an answer of AWS", e.Status, http.StatusText(e.Status))
	default:
		e.ofNetwork(err)
	}
	return e
}

// ofContext is that time was up or the user had enough.
func (e *Error) ofContext(err error) bool {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Code, e.Message, e.cause = CodeNoAnswer, "time was up", context.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		e.Code, e.Message, e.cause = CodeNoAnswer, "interrupted", context.Canceled
	}
	return e.cause != nil
}

// messageOf is AWS's message. Those about signatures hold the request's headers.
func messageOf(api smithy.APIError) string {
	switch api.ErrorCode() {
	case "SignatureDoesNotMatch", "InvalidSignatureException", "IncompleteSignature":
		return "the request's signature is not right"
	}
	return redact(api.ErrorMessage())
}

func (e *Error) ofNetwork(err error) {
	var dial *net.OpError
	var name *net.DNSError
	var invalid smithy.InvalidParamsError
	var garbage *smithy.DeserializationError
	switch {
	case untrusted(err):
		e.Code, e.Message, e.hint = CodeUnreachable, "TLS: "+redact(last(err).Error()), hintTLS
	case errors.As(err, &name):
		e.Code, e.Message = CodeUnreachable, redact(name.Error())
	case errors.As(err, &dial) && (dial.Op == "dial" || dial.Op == "proxyconnect"):
		e.Code, e.Message = CodeUnreachable, redact(dial.Error())
	case errors.As(err, &invalid):
		e.Code, e.Message = CodeBadRequest, redact(invalid.Error())
	case errors.As(err, &garbage):
		e.Code, e.Message = CodeBadAnswer, "the answer cannot be read"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Code, e.Message = CodeNoAnswer, "the connection was closed before the answer was whole"
	case sendFailed(err):
		e.Code, e.Message = CodeNoAnswer, redact(last(err).Error())
	default:
		e.Code, e.Message = CodeOther, redact(last(err).Error())
	}
}

func sendFailed(err error) bool {
	var send interface{ ConnectionError() bool } // smithyhttp.RequestSendError
	var network net.Error
	return errors.As(err, &send) || errors.As(err, &network)
}

func untrusted(err error) bool {
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &authority)
}

// last is the innermost error, of which the SDK makes a long sentence.
func last(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil || inner.Error() == "" {
			return err
		}
		err = inner
	}
}

const (
	struckOut = "[removed]"
	longest   = 500 // characters of a message
)

// secretive are the places in which credentials stand in AWS's texts.
var secretive = regexp.MustCompile(`(?i)(Credential=|Signature=|x-amz-security-token[:=]|SessionToken[":= ]+|SecretAccessKey[":= ]+|AWS_SECRET_ACCESS_KEY[:= ]+|AWS_SESSION_TOKEN[:= ]+)[^\s,;&<]+`)

// redact makes a text one short line without credentials.
func redact(text string) string {
	return clean(secretive.ReplaceAllString(text, "${1}"+struckOut))
}

// clean makes a text one short line.
func clean(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest]) + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
