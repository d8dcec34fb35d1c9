//go:build unix

package state

import "syscall"

// session takes a process away from our terminal: no ^C, no hang-up.
func session() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
