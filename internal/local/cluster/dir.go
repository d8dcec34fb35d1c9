package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	ownerFile = "owner.json"
	// A folder is called new-… until its owner's name is in it: sweep, which
	// another process may be in the middle of, never sees one without.
	newPrefix     = "new-"
	clusterPrefix = "cluster-"
)

// owner is the content of a cluster folder's owner file: whose the folder is,
// and which processes were started in it. It is always replaced by rename.
type owner struct {
	Process
	Nodes []ownedNode `json:"nodes"`
}

// ownedNode is a node's process as far as sweep has to know it.
type ownedNode struct {
	Process
	ID   string `json:"id"`
	Addr string `json:"addr"`
}

// Root is the folder in which the clusters of this user have theirs. Per user,
// because the temporary folder is everybody's.
func Root() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("rankbench-%d", os.Getuid()))
}

// claim makes the folder of a new cluster, with the owner file already in it,
// after sweeping Root. dir "" stands for a fresh name under Root.
func claim(dir string) (string, owner, error) {
	parent, err := parentOf(dir)
	if err != nil {
		return "", owner{}, err
	}
	// What cannot be swept now is no reason not to start.
	_ = Sweep(Root())
	self, err := Self()
	if err != nil {
		return "", owner{}, err
	}
	fresh, err := os.MkdirTemp(parent, newPrefix+"*")
	if err != nil {
		return "", owner{}, err
	}
	own := owner{Process: self}
	if dir, err = settle(fresh, dir, own); err != nil {
		return "", owner{}, errors.Join(err, os.RemoveAll(fresh))
	}
	return dir, own, nil
}

// parentOf is the folder in which dir is made.
func parentOf(dir string) (string, error) {
	if dir == "" {
		return Root(), ownFolder(Root())
	}
	return filepath.Dir(dir), nil
}

// settle writes own into fresh and then gives the folder its name for good:
// dir, or if that is empty one made from fresh's.
func settle(fresh, dir string, own owner) (string, error) {
	if dir == "" {
		parent, base := filepath.Split(fresh)
		dir = filepath.Join(parent, clusterPrefix+strings.TrimPrefix(base, newPrefix))
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := own.write(fresh); err != nil {
		return "", err
	}
	// Not os.Rename, which refuses an empty folder as the target. A folder that
	// is not empty is somebody's, and the kernel refuses it.
	if err := syscall.Rename(fresh, dir); err != nil {
		return "", fmt.Errorf("claim %s: %w", dir, err)
	}
	return dir, nil
}

// ownFolder makes path a folder that only this user can enter, or says why not:
// somebody else might have made it before us in the common temporary folder.
func ownFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err == nil || !errors.Is(err, os.ErrExist) {
		return err
	}
	return checkOwn(path)
}

// checkOwn wants path to be a folder that only this user can enter. What lies in
// it nobody else has written, so that it may be believed.
func checkOwn(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !isOurs(info) {
		return fmt.Errorf("%s is not a folder of this user alone", path)
	}
	return nil
}

// write replaces the owner file of dir.
func (o owner) write(dir string) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	tmp := filepath.Join(dir, ownerFile+".new")
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, ownerFile))
}

// readOwner reads the owner file of dir.
func readOwner(dir string) (owner, error) {
	var o owner
	data, err := os.ReadFile(filepath.Join(dir, ownerFile))
	if err != nil {
		return owner{}, err
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return owner{}, fmt.Errorf("%s: %w", filepath.Join(dir, ownerFile), err)
	}
	return o, nil
}
