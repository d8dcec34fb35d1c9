//go:build unix

package observe_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// serveProxy forwards connections of ln to addr until the test ends.
func serveProxy(t *testing.T, ln net.Listener, addr string) {
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { forward(in, addr) })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); wg.Wait() })
}

func forward(in net.Conn, addr string) {
	defer in.Close()
	out, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer out.Close()
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = io.Copy(in, out); _ = in.Close() })
	_, _ = io.Copy(out, in)
	_ = out.Close()
	wg.Wait()
}

// serveRedis6 answers one connection as Redis 6 would.
func serveRedis6(ln net.Listener, info func(string)) {
	conn, err := ln.Accept()
	if err != nil {
		return
	}
	defer conn.Close()
	for r := bufio.NewReader(conn); ; {
		args, err := readCommand(r)
		if err != nil {
			return
		}
		if args[0] == "info" {
			info(strings.Join(args[1:], " "))
		}
		if _, err := io.WriteString(conn, replyOfRedis6(args)); err != nil {
			return
		}
	}
}

func replyOfRedis6(args []string) string {
	const text = "# Server\r\nrun_id:abc\r\ntotal_net_input_bytes:34\r\ncmdstat_zadd:calls=12,usec=4,usec_per_call=0.33\r\n"
	switch {
	case args[0] == "role":
		return "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
	case args[0] == "info" && len(args) > 2:
		return "-ERR syntax error\r\n"
	case args[0] == "info":
		return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	}
	return "-ERR unknown command\r\n"
}

func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r)
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		if _, err := readLength(r); err != nil {
			return nil, err
		}
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		args[i] = strings.ToLower(strings.TrimSpace(line))
	}
	return args, nil
}

func readLength(r *bufio.Reader) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
