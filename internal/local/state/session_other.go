//go:build !unix

package state

import "syscall"

func session() *syscall.SysProcAttr { return nil }
