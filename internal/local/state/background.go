package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	logFile = "local.log"
	// readyFD is the file descriptor on which a background process says how its
	// start went: the first one after the standard three.
	readyFD = 3
	readyOK = "ready\n"
)

// LogPath is where the background process of the folder dir writes what a
// foreground one would write to stderr.
func LogPath(dir string) string { return filepath.Join(dir, folder, logFile) }

// Launch runs this program again, with args, as a process of its own session
// that holds none of our streams, and waits until it has told its Starter
// that it is ready. If it fails or ends before, the error is what it said.
func Launch(ctx context.Context, dir string, args []string) error {
	in, out, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("launch in the background: %w", err)
	}
	defer in.Close()
	cmd, err := startBackground(dir, args, out)
	// Ours, so that the child's end of the pipe is the only one: reading ends with it.
	out.Close()
	if err != nil {
		return fmt.Errorf("launch in the background: %w", err)
	}
	// Interrupted: the child is in its own session and has not heard ^C. It
	// cleans up and closes the pipe, and gets no more time for that than for End.
	stop := context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = in.SetReadDeadline(time.Now().Add(endsWithin))
	})
	defer stop()
	return heed(in, cmd, LogPath(dir))
}

// heed reads what the background process says of its start.
func heed(in io.Reader, cmd *exec.Cmd, log string) error {
	said, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("launch in the background: %w", err)
	}
	if string(said) == readyOK {
		return cmd.Process.Release()
	}
	_ = cmd.Wait() // its state says it
	if len(said) == 0 {
		return fmt.Errorf("the background process ended before it was ready (%v); its log is %s", cmd.ProcessState, log)
	}
	return errors.New(strings.TrimSpace(string(said)))
}

// startBackground starts the process with its streams on the log.
func startBackground(dir string, args []string, ready *os.File) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(LogPath(dir), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// Path is this very file even if it was moved or removed since (`go run`);
	// the name stays what we were called by.
	cmd := &exec.Cmd{
		Path: exe, Args: append([]string{os.Args[0]}, args...), Dir: dir,
		Stdout: log, Stderr: log, ExtraFiles: []*os.File{ready}, SysProcAttr: session(),
	}
	return cmd, cmd.Start()
}

// Starter is the process that waits in Launch, seen from the one it started.
type Starter struct{ pipe *os.File }

// StartedBy returns the process that waits for us. It has to be called before
// any process is started: one that inherited the pipe would hold it open, and
// the starter would wait for ever.
func StartedBy() Starter {
	syscall.CloseOnExec(readyFD)
	return Starter{os.NewFile(readyFD, "ready")}
}

// Tell says how the start went, once; failure nil is success.
func (s Starter) Tell(failure error) error {
	defer s.pipe.Close()
	said := readyOK
	if failure != nil {
		said = failure.Error() + "\n"
	}
	_, err := s.pipe.WriteString(said)
	return err
}
