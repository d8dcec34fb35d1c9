package target

import (
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/load"
	"github.com/rankbench/rankbench/internal/netfail"
)

// errMissing: the server answered, without a member that must be there. A
// replica that comes back empty answers so before its first full sync.
var errMissing = errors.New("member is missing")

// Classify returns the class of an error of an operation: by type where the
// driver, the standard library or the system give types, in the order from the
// particular to the general (a DNS lookup that timed out is DNS; a dial that
// was refused is Refused though it is a net.Error, too).
func Classify(err error) load.Class {
	if err == nil {
		return load.OK
	}
	for _, c := range []struct {
		class load.Class
		is    func(error) bool
	}{
		{load.Missing, isMissing},
		{load.ReadOnly, redis.IsReadOnlyError},
		{load.Moved, isMoved},
		{load.ClusterDown, isClusterDown},
		{load.Loading, redis.IsLoadingError},
		{load.OOM, redis.IsOOMError},
		{load.Auth, isAuth},
		{load.PoolTimeout, isPoolTimeout},
		{load.DNS, netfail.DNS},
		{load.TLS, netfail.TLS},
		{load.Refused, netfail.Refused},
		{load.Timeout, netfail.Timeout},
		{load.Reset, isReset},
	} {
		if c.is(err) {
			return c.class
		}
	}
	return load.Other
}

func isMissing(err error) bool { return errors.Is(err, errMissing) || errors.Is(err, redis.Nil) }

func isMoved(err error) bool {
	_, moved := redis.IsMovedError(err)
	_, ask := redis.IsAskError(err)
	return moved || ask
}

func isClusterDown(err error) bool {
	return redis.IsClusterDownError(err) || redis.IsMasterDownError(err) || redis.IsTryAgainError(err)
}

func isAuth(err error) bool { return redis.IsAuthError(err) || redis.IsPermissionError(err) }

func isPoolTimeout(err error) bool {
	return errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
}

func isReset(err error) bool { return netfail.Reset(err) || errors.Is(err, redis.ErrClosed) }
