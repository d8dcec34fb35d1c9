//go:build unix

package cluster_test

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/local/cluster"
	"github.com/rankbench/rankbench/internal/local/clustertest"
)

func TestNodesWithTLSAreCertifiedForAllTheirNames(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{
		Standalone: true, OwnHosts: true, Replicas: 1, TLS: true, Password: "secret",
		Names: func(id string) []string { return []string{id + ".cache.example"} },
	})
	config := trust(t, c.CAFile())
	for _, h := range cluster.InspectTLS(t.Context(), c.Addrs(), "secret", config) {
		if !h.Up {
			t.Errorf("%+v", h)
		}
	}
	for _, n := range c.Nodes() {
		for _, name := range []string{"", "127.0.0.1", "::1", "localhost", n.ID + ".cache.example"} {
			if err := handshake(t, n.Addr, config, name); err != nil {
				t.Errorf("%s as %q: %v", n.ID, name, err)
			}
		}
		if err := handshake(t, n.Addr, config, "other.example"); err == nil {
			t.Errorf("%s is certified for any name", n.ID)
		}
		if err := client(t, n.Addr).Ping(t.Context()).Err(); err == nil {
			t.Errorf("%s answers without TLS", n.ID)
		}
	}
}

func TestWithoutTLSThereIsNoCAFile(t *testing.T) {
	t.Parallel()
	if c := clustertest.Start(t, cluster.Options{Standalone: true}); c.CAFile() != "" {
		t.Errorf("there is %s", c.CAFile())
	}
}

func TestClientOfATLSClusterFollowsItsNodes(t *testing.T) {
	t.Parallel()
	c := clustertest.Start(t, cluster.Options{Shards: 2, TLS: true, Restricted: true})
	cc := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()[:1], TLSConfig: trust(t, c.CAFile())})
	defer cc.Close()
	for _, key := range strings.Fields("a b c d e f g h") {
		if err := cc.Set(t.Context(), key, 1, 0).Err(); err != nil {
			t.Error(err)
		}
	}
	if err := c.Move(t.Context(), "0001", "0002", 8000, nil); err != nil {
		t.Error(err)
	}
}

// trust makes a client's configuration from a CA file.
func trust(t *testing.T, file string) *tls.Config {
	t.Helper()
	pem, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatalf("%s has no certificate", file)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func handshake(t *testing.T, addr string, config *tls.Config, name string) error {
	t.Helper()
	config = config.Clone()
	config.ServerName = name
	d := tls.Dialer{Config: config}
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}
