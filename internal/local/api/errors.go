package api

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/rankbench/rankbench/internal/local/control"
)

// Codes of refusals that are about the wire and the form, not about a group.
// Source: "Common Errors" of the API references of ElastiCache and CloudWatch,
// and for the last four their service models.
const (
	codeInvalidAction  = "InvalidAction"
	codeMissingAction  = "MissingAction"
	codeBadParameter   = "InvalidQueryParameter"
	codeBadQuery       = "MalformedQueryString" // 404, so AWS
	codeUnknown        = "UnknownOperationException"
	codeSerialization  = "SerializationException"
	codeForbidden      = "AccessDenied"
	codeMissing        = "MissingParameter"
	codeInvalidARN     = "InvalidARN"
	codeValidation     = "ValidationError"
	codeInvalidToken   = "InvalidNextToken"
	codeParameterValue = control.CodeParameterValue
	codeParameterMix   = control.CodeParameterMix
)

func refuse(code, format string, args ...any) *control.Error {
	return refuseWith(http.StatusBadRequest, code, format, args...)
}

func refuseWith(status int, code, format string, args ...any) *control.Error {
	return &control.Error{Code: code, Status: status, Message: fmt.Sprintf(format, args...)}
}

func internalFailure() *control.Error {
	return refuseWith(http.StatusInternalServerError, control.CodeInternal,
		"The request processing has failed because of an unknown error, exception or failure.")
}

// refusal is the error as the caller sees it. What is not a refusal is a defect:
// its text goes to the log, where it cannot be mistaken for AWS's.
func (h *handler) refusal(c *call, err error) *control.Error {
	var e *control.Error
	if errors.As(err, &e) && e.Status >= 400 && e.Status < 600 && e.Code != "" {
		return e
	}
	h.log.Printf("%s: %v", c.name(), err)
	return internalFailure()
}

// errorType says whose fault a refusal is, as AWS does in its errors.
func errorType(e *control.Error) string {
	if e.Status >= 500 {
		return "Receiver"
	}
	return "Sender"
}

// shown is a value from a request as it may stand in a message.
func shown(value string) string {
	const most = 100
	value = strings.ToValidUTF8(value, "\uFFFD")
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return value
}

// newID is a random UUID, version 4, as AWS uses for requests and events.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// errorCode is the code that CloudTrail keeps, "" for a call that was accepted.
func errorCode(err error) string {
	var e *control.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	}
	return control.CodeInternal
}
