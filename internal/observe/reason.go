package observe

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/netfail"
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
		{"dns", netfail.DNS},
		{"tls", netfail.TLS},
		{"refused", netfail.Refused},
		{"timeout", netfail.Timeout},
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

func isReset(err error) bool { return netfail.Reset(err) || errors.Is(err, errSpent) }
