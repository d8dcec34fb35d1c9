package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestSweepEndsOnlyTheVeryProcessesThatWereRecorded(t *testing.T) {
	for _, tc := range []struct {
		name   string
		forge  func(n *ownedNode)
		nameIt bool // the folder is on the process's command line
		ends   bool
	}{
		{"recorded", func(*ownedNode) {}, true, true},
		{"same pid, other start", func(n *ownedNode) { n.Start++ }, true, false},
		{"same process, other command line", func(*ownedNode) {}, false, false},
		{"no address, which every command line has", func(n *ownedNode) { n.Addr = "" }, false, false},
		{"half an address", func(n *ownedNode) { n.Addr = ":" }, false, false},
		{"a word for an address", func(n *ownedNode) { n.Addr = "elsewhere" }, false, false},
		{"a word for a port", func(n *ownedNode) { n.Addr = "read:nothing" }, false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(privateDir(t), clusterPrefix+"x")
			arg := "else:where elsewhere read:nothing"
			if tc.nameIt {
				arg = dir
			}
			n := ownedNode{Process: bystander(t, arg), ID: "lb-0001-001", Addr: "127.0.0.1:1"}
			want := n.Process
			tc.forge(&n)
			ownedBy(t, dir, dead(), n)
			if err := Sweep(filepath.Dir(dir)); err != nil {
				t.Fatal(err)
			}
			if want.Alive() == tc.ends {
				t.Errorf("alive: %v, want %v", want.Alive(), !tc.ends)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("the folder is still there")
			}
		})
	}
}

func TestSweepLeavesAloneWhatIsNotADeadOwners(t *testing.T) {
	root := privateDir(t)
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	ownedBy(t, filepath.Join(root, clusterPrefix+"live"), self)
	ownedBy(t, filepath.Join(root, "other"), dead())
	for _, name := range []string{newPrefix + "being-made", clusterPrefix + "nameless"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(root); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 4 {
		t.Errorf("left are %v (%v), want all 4", entries, err)
	}
}

func TestSweepRemovesAnOldFolderWithoutAnOwner(t *testing.T) {
	root := privateDir(t)
	dir := filepath.Join(root, newPrefix+"forgotten")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * abandoned)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("it is still there")
	}
}

// stranger is the uid of somebody else.
const stranger = 12345

func TestWhatOthersCanWriteEndsNoProcess(t *testing.T) {
	for _, tc := range []struct {
		name    string
		spoil   func(path string) error
		asRoot  bool
		cluster bool // it is the cluster's folder that is spoilt, and not the root
	}{
		{"root of another mode", func(path string) error { return os.Chmod(path, 0o777) }, false, false},
		{"root of another user", func(path string) error { return os.Chown(path, stranger, -1) }, true, false},
		{"cluster of another mode", func(path string) error { return os.Chmod(path, 0o777) }, false, true},
		{"cluster of another user", func(path string) error { return os.Chown(path, stranger, -1) }, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.asRoot && os.Getuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			t.Setenv("TMPDIR", t.TempDir())
			if err := os.Mkdir(Root(), 0o700); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(Root(), clusterPrefix+"x")
			n := ownedNode{Process: bystander(t, dir), ID: "lb-0001-001", Addr: "127.0.0.1:1"}
			ownedBy(t, dir, dead(), n)
			spoilt := map[bool]string{false: Root(), true: dir}[tc.cluster]
			if err := tc.spoil(spoilt); err != nil {
				t.Fatal(err)
			}
			if err := Sweep(Root()); err == nil {
				t.Error("sweep: no error")
			}
			if _, _, err := claim(""); (err == nil) != tc.cluster {
				t.Errorf("claim: error %v", err)
			}
			if !n.Alive() {
				t.Error("the process has been ended")
			}
		})
	}
}

func TestReclaimRefusesAFolderNotNamedAsOurs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	ownedBy(t, dir, dead())
	for _, path := range []string{dir, "", ".", clusterPrefix + "relative"} {
		if err := Reclaim(path); err == nil {
			t.Errorf("%q was accepted", path)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}

// privateDir is a temporary folder as Root is one.
func privateDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// bystander runs a process with arg on its command line until the test ends.
func bystander(t *testing.T, arg string) Process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "read nothing", arg)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	p, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// dead is a process that has never been: the pid is ours, the start is not.
func dead() Process { return Process{PID: os.Getpid(), Start: 1} }

func ownedBy(t *testing.T, dir string, p Process, nodes ...ownedNode) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (owner{Process: p, Nodes: nodes}).write(dir); err != nil {
		t.Fatal(err)
	}
}
