package cluster

import (
	"context"
	"crypto/tls"
	"strconv"
	"sync"
)

// Health is what a node says of itself right now. Of a node that does not
// answer only Up, which is false, means something.
type Health struct {
	Up         bool
	Role       string // primary or replica
	Link       string // of a replica, to its primary: up or down; "" for a primary
	PID        int
	UsedMemory int64 // bytes
}

// Inspect asks all nodes at once, each for at most a second, and answers in
// their order. password, of the default user, may be empty.
func Inspect(ctx context.Context, addrs []string, password string) []Health {
	return InspectTLS(ctx, addrs, password, nil)
}

// InspectTLS is Inspect of nodes that listen with TLS.
func InspectTLS(ctx context.Context, addrs []string, password string, tls *tls.Config) []Health {
	all := make([]Health, len(addrs))
	var wg sync.WaitGroup
	for i, addr := range addrs {
		wg.Go(func() { all[i] = inspect(ctx, addr, login{password: password, tls: tls}) })
	}
	wg.Wait()
	return all
}

func inspect(ctx context.Context, addr string, l login) Health {
	ctx, cancel := context.WithTimeout(ctx, askTakes)
	defer cancel()
	client, err := l.open(ctx, addr)
	if err != nil {
		return Health{}
	}
	defer client.Close()
	info, err := client.Info(ctx).Result()
	if err != nil {
		return Health{}
	}
	return health(info)
}

func health(info string) Health {
	h := Health{Up: true, Role: "primary"}
	if field(info, "role") == "slave" {
		h.Role, h.Link = "replica", field(info, "master_link_status")
	}
	// A field that is missing or no number stays 0, as unknown.
	h.PID, _ = strconv.Atoi(field(info, "process_id"))
	h.UsedMemory, _ = strconv.ParseInt(field(info, "used_memory"), 10, 64)
	return h
}
