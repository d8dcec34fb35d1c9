//go:build !unix

package self

import (
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// cpuTime is what the system says of the process, user and system.
func cpuTime(p *process.Process) (time.Duration, error) {
	t, err := p.Times()
	if err != nil {
		return 0, err
	}
	return time.Duration((t.User + t.System) * float64(time.Second)), nil
}
