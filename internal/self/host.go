package self

import (
	"os"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/rankbench/rankbench/internal/result"
)

// Host describes the machine. What the system does not tell is left empty.
func Host() result.Host {
	return result.Host{
		Name:     orEmpty(os.Hostname),
		OS:       runtime.GOOS,
		Arch:     runtime.GOARCH,
		Kernel:   orEmpty(host.KernelVersion),
		CPU:      orEmpty(cpuModel),
		CPUs:     runtime.NumCPU(),
		MaxProcs: runtime.GOMAXPROCS(0),
		MemBytes: memory(),
	}
}

func orEmpty(read func() (string, error)) string {
	s, err := read()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(s)
}

func cpuModel() (string, error) {
	infos, err := cpu.Info()
	if err != nil || len(infos) == 0 {
		return "", err
	}
	return infos[0].ModelName, nil
}

func memory() uint64 {
	m, err := mem.VirtualMemory()
	if err != nil {
		return 0
	}
	return m.Total
}
