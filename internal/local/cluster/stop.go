package cluster

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// politeFor is how long a process is given to end after SIGTERM before it gets
// SIGKILL.
const politeFor = 3 * time.Second

// Stop breaks off the changes under way, ends all processes (SIGTERM, after 3 s
// SIGKILL), waits for them and removes the folder. Calls of OnDeath that do not
// return are waited for no longer than 3 s. Further calls return what the first
// one did.
func (c *Cluster) Stop() error {
	c.once.Do(func() { c.stopErr = c.stop() })
	return c.stopErr
}

func (c *Cluster) stop() error {
	for _, running := range c.retire() {
		// The error is that it has ended already, which is what we want.
		_ = running.signal(syscall.SIGTERM)
		_ = running.signal(sigCont) // a hung (SIGSTOPped) node cannot hear SIGTERM
	}
	impatience := time.AfterFunc(politeFor, c.killAll)
	c.watchers.Wait()
	impatience.Stop()
	c.changing.Wait()
	c.spawner.close()
	c.places.close()
	waitFor(&c.callbacks, politeFor)
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("stop local cluster: %w", err)
	}
	return nil
}

// retire lets no further process start, ends the contexts of all changes and
// returns the processes that run.
func (c *Cluster) retire() []*child {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	for ch := range c.changes {
		ch.cancel(ErrStopped)
	}
	return slices.Collect(maps.Keys(c.children))
}

// killAll is what is left when asking nicely has not helped.
func (c *Cluster) killAll() {
	for _, running := range c.retire() {
		_ = running.signal(syscall.SIGKILL)
	}
}

// waitFor waits for wg, but not forever: whoever is called back may itself be
// waiting for the caller of Stop.
func waitFor(wg *sync.WaitGroup, limit time.Duration) {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// end ends n's process, if it has one, and returns when it is gone. It is told
// to nobody.
func (c *Cluster) end(n *node, how syscall.Signal) {
	c.mu.Lock()
	if !n.alive() {
		c.mu.Unlock()
		return
	}
	ch := n.child
	ch.asked = true
	c.mu.Unlock()
	_ = ch.signal(how)
	_ = ch.signal(sigCont)
	impatience := time.AfterFunc(politeFor, func() { _ = ch.signal(syscall.SIGKILL) })
	defer impatience.Stop()
	<-ch.done
}
