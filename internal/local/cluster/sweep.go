package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// abandoned is the age at which a folder without an owner file is taken for
	// the remains of a process killed between making the folder and writing it.
	abandoned = time.Hour
	// killTakes bounds the wait for a swept process to be gone.
	killTakes = 5 * time.Second
)

// ErrOwned says that a cluster's owner is alive, so that nobody else may clean up.
var ErrOwned = errors.New("its owner is alive")

// Sweep removes the clusters under root whose owner is dead, processes first.
// Those of a live owner, and whatever is not a cluster's folder, it leaves alone.
// A root that is not this user's alone it refuses: whoever can write there names
// the processes that end.
func Sweep(root string) error {
	root, err := filepath.Abs(root)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	entries, err := sweepable(root)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !isCluster(e.Name()) {
			continue
		}
		if err := Reclaim(filepath.Join(root, e.Name())); err != nil && !errors.Is(err, ErrOwned) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sweepable lists root, which is this user's alone or not there.
func sweepable(root string) ([]os.DirEntry, error) {
	if err := checkOwn(root); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return os.ReadDir(root)
}

func isCluster(name string) bool {
	return strings.HasPrefix(name, clusterPrefix) || strings.HasPrefix(name, newPrefix)
}

// Reclaim removes one cluster's folder and the processes it records, or returns
// ErrOwned. A folder that is gone already is no error. One that is not named as
// claim names them under a root is refused, whatever is in it: a wrong path must
// not cost anybody a folder. What Options.Dir named is its giver's to remove. One
// that is not this user's alone is refused, too.
func Reclaim(dir string) error {
	if !filepath.IsAbs(dir) || !isCluster(filepath.Base(dir)) {
		return fmt.Errorf("reclaim %q: not the folder of a local cluster", dir)
	}
	if err := checkOwn(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("reclaim: %w", err)
	}
	own, err := readOwner(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return reclaimNameless(dir)
	case err != nil:
		return fmt.Errorf("reclaim: %w", err)
	case own.Alive():
		return fmt.Errorf("reclaim %s: %w", dir, ErrOwned)
	}
	for _, n := range own.Nodes {
		if err := n.end(dir); err != nil {
			return fmt.Errorf("reclaim %s: %w", dir, err)
		}
	}
	return os.RemoveAll(dir)
}

// reclaimNameless removes a folder without an owner file once it is old. It may
// be another process's, about to get one.
func reclaimNameless(dir string) error {
	info, err := os.Stat(dir)
	if err != nil || time.Since(info.ModTime()) < abandoned {
		return nil //nolint:nilerr // somebody else has removed it
	}
	return os.RemoveAll(dir)
}

// end kills the node if it is still the very process that was recorded: the
// same pid, started at the same time, and with our folder (or, before Redis 6.2,
// which writes it there, our address) on its command line. An address that is
// none, such as "", would be on everybody's.
func (n ownedNode) end(dir string) error {
	if !isAddr(n.Addr) || !n.Alive() || !n.runs(dir, n.Addr) {
		return nil
	}
	proc, err := os.FindProcess(n.PID)
	if err != nil {
		return err
	}
	if err := proc.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill %s: %w", n.ID, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), killTakes)
	defer cancel()
	return poll(ctx, func(context.Context) error {
		if n.Alive() {
			return fmt.Errorf("%s (pid %d) survives SIGKILL", n.ID, n.PID)
		}
		return nil
	})
}

// isAddr tells whether addr is a host with a port.
func isAddr(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}
