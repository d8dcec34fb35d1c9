//go:build unix && !linux

package cluster

import "syscall"

const sigCont = syscall.SIGCONT

// childAttr keeps a terminal's ^C from a child. There is no parent-death signal
// here: after kill -9 of this process the next Start's sweep ends the children.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
