//go:build !(linux || darwin)

package result

// freeBytes is not known here.
func freeBytes(string) (free uint64, known bool) { return 0, false }
