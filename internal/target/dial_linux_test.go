package target

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestAResolverChangesNothingElseForTheDriver: with driver-defaults a connection
// has the socket options that go-redis gives it, read from the system.
func TestAResolverChangesNothingElseForTheDriver(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	drivers := redis.NewClient(&redis.Options{})
	defer drivers.Close()
	if got := drivers.Options().DialTimeout; got != driverDialTimeout {
		t.Errorf("the driver's dial timeout is %v", got)
	}
	want := socketOptions(t, drivers.Options().Dialer, l.Addr().String())
	got := socketOptions(t, driversDial(Resolver("127.0.0.1:1"), nil, 0), l.Addr().String())
	if got != want {
		t.Errorf("keepalive on, idle, interval, count; no delay: %v, the driver's are %v", got, want)
	}
	if driversDial(Resolver(""), nil, time.Second) != nil {
		t.Error("without a resolver the driver does not dial by itself")
	}
}

func socketOptions(t *testing.T, dial dialFunc, addr string) (values [5]int) {
	t.Helper()
	conn, err := dial(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	options := [5][2]int{
		{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE}, {syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE},
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL}, {syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT},
		{syscall.IPPROTO_TCP, syscall.TCP_NODELAY},
	}
	err = raw.Control(func(fd uintptr) {
		for i, o := range options {
			if values[i], err = syscall.GetsockoptInt(int(fd), o[0], o[1]); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return values
}
