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
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), clusterPrefix+"x")
			arg := "elsewhere"
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
	root := t.TempDir()
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
	root := t.TempDir()
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
