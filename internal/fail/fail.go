// Package fail marks errors with what the user needs beside their text: a hint
// on what to do, and the exit code they stand for. It is a leaf; only main
// reads the marks.
package fail

import "errors"

// The exit codes, a contract: in every --help and in the README.
const (
	CodeFine        = 0   // fine
	CodeFailed      = 1   // failed to run
	CodeUsage       = 2   // bad usage, scenario or config
	CodeLimit       = 3   // ran, and a limit was not met
	CodeNotRestored = 4   // ran, and something changed could not be restored
	CodeBottleneck  = 5   // ran, and the client was the bottleneck where the scenario forbids it
	CodeInterrupted = 130 // interrupted, results written
)

type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }
func (h hinted) Hint() string  { return h.hint }

// WithHint adds a sentence on what to do about err.
func WithHint(err error, hint string) error { return hinted{err, hint} }

// HintOf returns the outermost hint of err, or "".
func HintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }
func (c coded) ExitCode() int { return c.code }

// WithCode says which exit code err stands for.
func WithCode(err error, code int) error { return coded{err, code} }

// CodeOf returns the exit code of err: 0 for nil, CodeFailed where none is set.
func CodeOf(err error) int {
	if err == nil {
		return CodeFine
	}
	var c interface{ ExitCode() int }
	if errors.As(err, &c) {
		return c.ExitCode()
	}
	return CodeFailed
}
