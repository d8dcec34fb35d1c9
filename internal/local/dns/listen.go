package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// portTries bounds how often another port is tried, where any will do.
const portTries = 50

// listen takes the same port for UDP and TCP. The system gives out a free port
// of one of them only: somebody may have the other.
func listen(ctx context.Context, at netip.AddrPort) (packets net.PacketConn, streams net.Listener, err error) {
	for range portTries {
		packets, streams, err = listenOnce(ctx, at)
		if at.Port() != 0 || !errors.Is(err, syscall.EADDRINUSE) {
			return packets, streams, err
		}
	}
	return nil, nil, err
}

func listenOnce(ctx context.Context, at netip.AddrPort) (net.PacketConn, net.Listener, error) {
	var lc net.ListenConfig
	packets, err := lc.ListenPacket(ctx, "udp", at.String())
	if err != nil {
		return nil, nil, fmt.Errorf("listen: %w", err)
	}
	streams, err := lc.Listen(ctx, "tcp", packets.LocalAddr().String())
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("listen: %w", err), packets.Close())
	}
	return packets, streams, nil
}
