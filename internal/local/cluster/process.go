package cluster

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v4/process"
)

// Process names a process for good: a pid alone is given to another one sooner
// or later. Start is the time it was started, in clock ticks since boot on
// Linux and in milliseconds of the Unix epoch elsewhere; it is only compared.
type Process struct {
	PID   int   `json:"pid"`
	Start int64 `json:"start"`
}

// Identify names the running process pid.
func Identify(pid int) (Process, error) {
	start, err := startTime(pid)
	if err != nil {
		return Process{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return Process{PID: pid, Start: start}, nil
}

// Self names this process.
func Self() (Process, error) { return Identify(os.Getpid()) }

// Alive tells whether exactly this process still runs. A killed process that
// nobody has waited for yet does not.
func (p Process) Alive() bool {
	now, err := Identify(p.PID)
	return err == nil && now == p
}

// runs tells whether p's command line has one of words in it.
func (p Process) runs(words ...string) bool {
	proc, err := process.NewProcess(int32(p.PID))
	if err != nil {
		return false
	}
	line, err := proc.Cmdline()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) })
}
