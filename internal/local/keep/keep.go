// Package keep keeps the replication groups of a local ElastiCache in a folder,
// so that another one can take them over. It knows neither the control plane nor
// how groups are started.
//
//  1. Save reads each group from outside, as any client could: SCAN, then DUMP
//     and PTTL of every key, into one file (format.go)
//  2. unless its caller says that the groups have changed meanwhile, it enters
//     the files in groups.json, which replaces the former one at once: what it
//     does not name is no part of what is kept, and is removed
//  3. Open reads groups.json and checks every file as a whole
//  4. Restore fills a fresh group from its file with RESTORE, and counts
//
// DUMP and RESTORE are as https://redis.io/docs/latest/commands/dump/ and
// …/restore/ have them: a value carries the version of its encoding and a
// checksum, so that an older server refuses what it cannot read. Keys are kept,
// with the time they have left; how recently they were used, functions, scripts
// and users are not.
package keep

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rankbench/rankbench/internal/local/state"
)

const (
	version  = 1
	listFile = "groups.json"
	keysFile = "*.keys"
	// batchKeys and batchBytes bound what is in memory and on its way at a time.
	// A value above batchBytes travels alone.
	batchKeys  = 512
	batchBytes = 8 << 20
)

// ErrNone says that nothing is kept in the folder.
var ErrNone = errors.New("nothing is kept")

// Kept is what groups.json holds.
type Kept struct {
	Version int       `json:"version"`
	Saved   time.Time `json:"saved"`
	Groups  []Group   `json:"groups"` // the first one first

	dir string
}

// Group is one kept replication group.
type Group struct {
	state.Group
	Keys int64  `json:"keys"`
	File string `json:"file"` // its keys' file, in the same folder
}

// Keys is the number of keys of all groups.
func (k Kept) Keys() int64 {
	var n int64
	for _, g := range k.Groups {
		n += g.Keys
	}
	return n
}

// Exists tells whether something is kept in dir, right or not.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, listFile))
	return err == nil
}

// Open reads what is kept in dir, and checks that all of it is as it was
// written. The error is ErrNone if nothing is kept there.
func Open(dir string) (Kept, error) {
	path := filepath.Join(dir, listFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return Kept{}, ErrNone
	}
	if err != nil {
		return Kept{}, fmt.Errorf("read what is kept: %w", err)
	}
	k := Kept{dir: dir}
	if err := json.Unmarshal(data, &k); err != nil {
		return Kept{}, fmt.Errorf("read what is kept: %s: %w", path, err)
	}
	if k.Version != version {
		return Kept{}, fmt.Errorf("read what is kept: %s has version %d, this rankbench knows %d", path, k.Version, version)
	}
	if len(k.Groups) == 0 {
		return Kept{}, fmt.Errorf("read what is kept: %s names no group", path)
	}
	return k, k.check()
}

// check checks the files of all groups.
func (k Kept) check() error {
	var errs []error
	for _, g := range k.Groups {
		if err := checkFile(k.path(g)); err != nil {
			errs = append(errs, fmt.Errorf("read what is kept: %w", err))
		}
	}
	return errors.Join(errs...)
}

// path is where g's keys are: in this folder, whatever groups.json says.
func (k Kept) path(g Group) string { return filepath.Join(k.dir, filepath.Base(g.File)) }

// publish makes k what is kept.
func (k Kept) publish() error {
	data, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return err
	}
	tmp := filepath.Join(k.dir, fmt.Sprintf("%s.%d", listFile, os.Getpid()))
	defer os.Remove(tmp) //nolint:errcheck // where it was renamed there is nothing left to remove
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(k.dir, listFile))
}

// sweep removes the keys' files that k does not name. It is no failure if one
// stays: k is what is kept, and the next Save sweeps again.
func (k Kept) sweep() {
	files, _ := filepath.Glob(filepath.Join(k.dir, keysFile)) // fails only for a bad pattern
	for _, path := range files {
		named := slices.ContainsFunc(k.Groups, func(g Group) bool { return k.path(g) == path })
		if !named {
			_ = os.Remove(path)
		}
	}
}

// discard removes k's files, which nobody will name, and the folder if it is empty.
func (k Kept) discard() {
	for _, g := range k.Groups {
		_ = os.Remove(k.path(g)) // the next Save sweeps what stays
	}
	_ = os.Remove(k.dir)
}
