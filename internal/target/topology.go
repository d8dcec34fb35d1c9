package target

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/config"
	"github.com/rankbench/rankbench/internal/fail"
)

// readTopology finds out how many shards and replicas the target has.
func (s *Server) readTopology(ctx context.Context, rdb *redis.Client, mode, key string) error {
	read := s.readReplication
	if mode == config.Cluster {
		read = func(ctx context.Context, rdb *redis.Client) error { return s.readSlots(ctx, rdb, key) }
	}
	if err := read(ctx, rdb); err != nil {
		err = fmt.Errorf("read the topology of %s: %w", s.Addr, err)
		if fail.HintOf(err) == "" {
			err = fail.WithHint(err, "the user needs at least +info, +role, +command and, in cluster mode, +cluster")
		}
		return err
	}
	return nil
}

func (s *Server) readReplication(ctx context.Context, rdb *redis.Client) error {
	text, err := rdb.Info(ctx, "replication").Result()
	if err != nil {
		return err
	}
	info := parseInfo(text)
	s.Shards = 1
	if s.Replicas, err = strconv.Atoi(info["connected_slaves"]); err != nil {
		return fmt.Errorf("connected_slaves: %w", err)
	}
	if info["role"] == "slave" {
		s.Upstream = net.JoinHostPort(info["master_host"], info["master_port"])
	}
	return nil
}

func (s *Server) readSlots(ctx context.Context, rdb *redis.Client, key string) error {
	slots, err := rdb.ClusterSlots(ctx).Result()
	if err != nil {
		return err
	}
	slot, err := rdb.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return err
	}
	s.Slot = int(slot)
	primaries := map[string]bool{}
	for _, r := range slots {
		if len(r.Nodes) == 0 {
			continue
		}
		primaries[r.Nodes[0].ID+r.Nodes[0].Addr] = true
		if int64(r.Start) <= slot && slot <= int64(r.End) {
			s.keepNodes(r.Nodes)
		}
	}
	s.Shards = len(primaries)
	if len(s.nodes) == 0 {
		return fail.WithHint(fmt.Errorf("no node serves slot %d, which holds the key %q", slot, key),
			"the cluster is not complete; look at CLUSTER NODES")
	}
	return nil
}

// keepNodes keeps the addresses of a slot's nodes, primary first. A node
// without a host is at the address that was asked.
func (s *Server) keepNodes(nodes []redis.ClusterNode) {
	s.Replicas = len(nodes) - 1
	for _, n := range nodes {
		host, port, err := net.SplitHostPort(n.Addr)
		if err == nil && host == "" {
			host, _, _ = net.SplitHostPort(s.Addr)
		}
		s.nodes = append(s.nodes, net.JoinHostPort(host, port))
	}
}

// reach dials the addresses which the cluster announces for the shard that
// holds the key: through a tunnel or a bastion the endpoint may answer, and the
// nodes not. A replica that cannot be reached is a warning.
func (s *Server) reach(ctx context.Context, cfg *config.Config, tc *tls.Config, secret string) error {
	errs := make([]error, len(s.nodes))
	var wg sync.WaitGroup
	for i, addr := range s.nodes {
		wg.Go(func() {
			rdb := plainClient(addr, cfg.Target, secret, tc)
			defer rdb.Close()
			errs[i] = rdb.Ping(ctx).Err()
		})
	}
	wg.Wait()
	for i, err := range errs {
		switch {
		case err == nil:
		case i == 0:
			return fail.WithHint(fmt.Errorf("connect to %s, which %s announces as the ranking's primary: %w", s.nodes[i], s.Addr, err),
				"the nodes themselves must be reachable from here, not only the endpoint: a tunnel to one port is not enough")
		default:
			s.Warnings = append(s.Warnings, fmt.Sprintf("the replica %s cannot be reached: %v", s.nodes[i], err))
		}
	}
	return nil
}
