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
		{"readonly", isReadOnly},
		{"clusterdown", isClusterDown},
		{"oom", redis.IsOOMError},
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

// class is the reason as the name of a class: what has none of its own is other.
// Texts would be as many as there are ports in them.
func class(err error) string {
	if r := reason(err); !strings.ContainsAny(r, " :") {
		return r
	}
	return "other"
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func isAuth(err error) bool { return redis.IsAuthError(err) || redis.IsPermissionError(err) }

func isReadOnly(err error) bool { return redis.IsReadOnlyError(err) || errors.Is(err, errNotPrimary) }

func isClusterDown(err error) bool {
	return redis.IsClusterDownError(err) || redis.IsMasterDownError(err) || redis.IsTryAgainError(err)
}

func isReset(err error) bool { return netfail.Reset(err) || errors.Is(err, errSpent) }
