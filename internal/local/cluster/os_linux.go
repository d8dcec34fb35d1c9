package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

const sigCont = syscall.SIGCONT

// childAttr makes a child die with the thread that started it, however that
// ends, and keeps a terminal's ^C from it: we stop it ourselves, in order.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// startTime is field 22 of /proc/pid/stat: clock ticks since boot. Not gopsutil's
// CreateTime, which adds the boot time as the wall clock sees it now: after a
// step of the clock the same live process would seem another, and be swept.
func startTime(pid int) (int64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// Field 2 is the program's name in brackets, which may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields after the name", pid, len(fields))
	}
	if state := fields[0][0]; state == 'Z' || state == 'X' {
		return 0, errors.New("process has ended") // killed, and not yet waited for
	}
	return strconv.ParseInt(string(fields[19]), 10, 64)
}
