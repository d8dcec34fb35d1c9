package cluster

import (
	"os/exec"
	"runtime"
)

// spawner starts all child processes from one operating system thread. Linux
// sends the parent-death signal when the *thread* that made the child ends, not
// the process, and Go ends threads at will: only a locked thread that lives as
// long as the cluster keeps the children alive exactly as long as this process.
type spawner struct {
	work chan func()
	done chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func()), done: make(chan struct{})}
	go s.run()
	return s
}

func (s *spawner) run() {
	defer close(s.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for work := range s.work {
		work()
	}
}

// start is cmd.Start on the spawner's thread. Not to be called after close.
func (s *spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = childAttr()
	err := make(chan error, 1)
	s.work <- func() { err <- cmd.Start() }
	return <-err
}

// close lets the thread go; children that still run may die of it.
func (s *spawner) close() {
	close(s.work)
	<-s.done
}
