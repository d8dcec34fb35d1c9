package cluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// ErrNoServer says that there is neither redis-server nor valkey-server on PATH.
var ErrNoServer = errors.New("no redis-server or valkey-server on PATH: install one with " +
	"`apt-get install redis-server`, `dnf install redis`, `apk add redis` or `brew install redis`, or run `make redis`")

// serverVersion finds "v=7.0.15" in what `redis-server --version` prints.
var serverVersion = regexp.MustCompile(`\bv=((\d+)\.(\d+)[^ ]*)`)

// Server is the program that the nodes run.
type Server struct {
	Binary  string // absolute path
	Version string // as it says itself, "7.0.15"
	major   int
	minor   int
}

// FindServer asks the program called binary, or if that is empty the first of
// redis-server and valkey-server on PATH, for its version.
func FindServer(ctx context.Context, binary string) (Server, error) {
	path, err := findBinary(binary)
	if err != nil {
		return Server{}, err
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return Server{}, fmt.Errorf("run %s --version: %w", path, err)
	}
	m := serverVersion.FindSubmatch(out)
	if m == nil {
		return Server{}, fmt.Errorf("%s is no redis-server: --version printed %.80q", path, out)
	}
	// The pattern lets nothing but digits through.
	major, _ := strconv.Atoi(string(m[2]))
	minor, _ := strconv.Atoi(string(m[3]))
	return Server{Binary: path, Version: string(m[1]), major: major, minor: minor}, nil
}

func findBinary(binary string) (string, error) {
	if binary != "" {
		return absolute(binary)
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := absolute(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoServer
}

// absolute resolves name now: the nodes run in other folders.
func absolute(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find the server: %w", err)
	}
	return filepath.Abs(path)
}

// atLeast tells whether the server is of that version or newer.
func (s Server) atLeast(major, minor int) bool {
	return s.major > major || s.major == major && s.minor >= minor
}
