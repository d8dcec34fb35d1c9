//go:build linux || darwin

package result

import "golang.org/x/sys/unix"

// freeBytes is what a user may still write to the disk that holds path.
func freeBytes(path string) (free uint64, known bool) {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return 0, false
	}
	return st.Bavail * uint64(st.Bsize), true //nolint:unconvert // Bsize has another type on other systems
}
