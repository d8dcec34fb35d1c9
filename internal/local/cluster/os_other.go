//go:build !unix

package cluster

import (
	"os"
	"syscall"
)

// sigCont does not exist here; nor does a way to hang a node.
const sigCont = syscall.Signal(0)

func childAttr() *syscall.SysProcAttr { return nil }

// isOurs cannot be told here; the temporary folder is the user's own, too.
func isOurs(os.FileInfo) bool { return true }
