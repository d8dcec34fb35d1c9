//go:build !linux

package cluster

import (
	"errors"
	"slices"

	"github.com/shirou/gopsutil/v4/process"
)

// startTime is in milliseconds of the Unix epoch.
func startTime(pid int) (int64, error) {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0, err
	}
	if status, err := p.Status(); err == nil && slices.Contains(status, process.Zombie) {
		return 0, errors.New("process has ended") // killed, and not yet waited for
	}
	return p.CreateTime()
}
