//go:build unix

package cluster

import (
	"os"
	"syscall"
)

// isOurs tells whether a file belongs to this user.
func isOurs(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Getuid())
}
