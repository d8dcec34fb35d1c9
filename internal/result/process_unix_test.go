//go:build linux || darwin

package result

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// helperEnv makes the test binary a helper instead: "what:folder".
const helperEnv = "RANKBENCH_RESULT_HELPER"

func TestMain(m *testing.M) {
	what, folder, ok := strings.Cut(os.Getenv(helperEnv), ":")
	if !ok {
		os.Exit(m.Run())
	}
	if err := helpers[what](folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var helpers = map[string]func(folder string) error{
	"write until killed":                       writeUntilKilled,
	"prepare on a full disk":                   prepareOnAFullDisk,
	"write on a full disk":                     func(folder string) error { return writeOnAFullDisk(folder, false) },
	"write on a disk that is full for a while": func(folder string) error { return writeOnAFullDisk(folder, true) },
}

func helper(t *testing.T, what, folder string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^$")
	cmd.Env = append(os.Environ(), helperEnv+"="+what+":"+folder)
	return cmd
}

// writeUntilKilled writes intervals for ever, and tells on stdout of each that is written.
func writeUntilKilled(folder string) error {
	f, err := Create(folder, Run{Version: Version})
	if err != nil {
		return err
	}
	iv := filled[Interval](1)
	for iv.Phase = 0; ; iv.Phase++ {
		if err := f.Interval(iv); err != nil {
			return err
		}
		if _, err := fmt.Println(iv.Phase); err != nil {
			return err
		}
	}
}

func TestKilledRunKeepsEveryLineThatWasWritten(t *testing.T) {
	path := t.TempDir()
	cmd := helper(t, "write until killed", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	written := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if written++; written == 50 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || written < 50 {
		t.Fatalf("the helper ended by itself after %d lines", written)
	}
	if _, err := ReadRun(path); err != nil {
		t.Error(err)
	}
	got, _ := readIntervals(t, path)
	for i, iv := range got {
		if want := filled[Interval](1); iv.Phase != i || !reflect.DeepEqual(iv.Cells, want.Cells) {
			t.Fatalf("line %d is %+v", i+1, iv)
		}
	}
	// The one after the last that was told may be there, or cut.
	if len(got) < written || len(got) > written+1 {
		t.Errorf("%d lines can be read, %d were written for certain", len(got), written)
	}
}

// limitFiles plays a disk that is full: the kernel writes what fits and
// refuses the rest.
func limitFiles(bytes uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = bytes
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}

func prepareOnAFullDisk(folder string) error {
	if err := limitFiles(1 << 20); err != nil {
		return err
	}
	err := Prepare(folder, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "no room for 4 MB") {
		return fmt.Errorf("prepare says %w", err)
	}
	return nil
}

// writeOnAFullDisk writes until the disk is full, and then a line more; where the
// disk has room again before that one, all are written.
func writeOnAFullDisk(folder string, freed bool) error {
	f, err := Create(folder, Run{Version: Version})
	if err != nil {
		return err
	}
	if err := limitFiles(10_000); err != nil {
		return err
	}
	long := Interval{Cells: []Cell{{Op: strings.Repeat("x", 2900)}}}
	for long.Phase = 1; long.Phase <= 3; long.Phase++ {
		if err := f.Interval(long); err != nil {
			return err
		}
	}
	if err := f.Interval(long); !errors.Is(err, ErrLater) {
		return fmt.Errorf("a line beyond the end of the disk: %w", err)
	}
	if freed {
		if err := limitFiles(1 << 20); err != nil {
			return err
		}
		return errors.Join(f.Interval(Interval{Phase: 5}), f.Close())
	}
	if err := f.Interval(Interval{Phase: 5}); !errors.Is(err, ErrLater) {
		return fmt.Errorf("a line after one that waits: %w", err)
	}
	if f.Close() == nil {
		return errors.New("what was not written is not told")
	}
	return nil
}

func runHelper(t *testing.T, what, folder string) {
	t.Helper()
	if out, err := helper(t, what, folder).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", what, err, out)
	}
}

func TestFullDiskIsToldBeforeTheRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	runHelper(t, "prepare on a full disk", path)
	if left, err := os.ReadDir(path); err != nil || len(left) > 0 {
		t.Errorf("left are %v (%v)", left, err)
	}
}

// TestFolderCanBeReadAfterTheDiskWasFull: what could not be written comes later, in
// its order; if the disk stays full, the piece of a line that still fitted is gone.
func TestFolderCanBeReadAfterTheDiskWasFull(t *testing.T) {
	for what, want := range map[string]string{"write on a full disk": "[1 2 3]", "write on a disk that is full for a while": "[1 2 3 4 5]"} {
		path := t.TempDir()
		runHelper(t, what, path)
		var phases []int
		truncated, err := ReadIntervals(path, func(iv Interval) error { phases = append(phases, iv.Phase); return nil })
		if err != nil || truncated || fmt.Sprint(phases) != want {
			t.Errorf("%s: lines are %v, truncated=%v, error %v; want %s", what, phases, truncated, err, want)
		}
	}
}
