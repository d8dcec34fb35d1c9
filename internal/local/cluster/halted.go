package cluster

import (
	"slices"

	"github.com/shirou/gopsutil/v4/process"
)

// stopped tells whether process pid is halted by SIGSTOP, as a hung node is.
// What cannot be found out counts as no: then the question put to it times out.
func stopped(pid int) bool {
	p := process.Process{Pid: int32(pid)}
	status, err := p.Status()
	return err == nil && slices.Contains(status, process.Stop)
}
