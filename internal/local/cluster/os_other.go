//go:build !unix

package cluster

import "syscall"

// sigCont does not exist here; nor does a way to hang a node.
const sigCont = syscall.Signal(0)

func childAttr() *syscall.SysProcAttr { return nil }
