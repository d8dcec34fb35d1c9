package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	caFile   = "ca.crt"
	certFile = "node.crt"
	keyFile  = "node.key"
	// certsLast is longer than any local cluster runs; certsBackdated forgives a
	// clock that is set back.
	certsLast      = 365 * 24 * time.Hour
	certsBackdated = time.Hour
)

// authority is the CA of one cluster. Its key is in no file.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // the PEM file of cert
}

// newAuthority makes a CA and writes its certificate into dir.
func newAuthority(dir, group string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the CA's key: %w", err)
	}
	t := template(group + " CA")
	t.IsCA, t.BasicConstraintsValid, t.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the CA's certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make the CA's certificate: %w", err)
	}
	a := &authority{cert: cert, key: key, file: filepath.Join(dir, caFile)}
	return a, writePEM(a.file, "CERTIFICATE", der)
}

// template is what all our certificates have in common.
func template(name string) *x509.Certificate {
	// Unique among this CA's is enough, and 64 random bits are.
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64)) // never fails
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-certsBackdated),
		NotAfter:     time.Now().Add(certsLast),
	}
}

// issue writes a certificate for n and its key into n's folder. It is good for
// both sides of a connection: on the cluster bus Redis asks clients for theirs.
func (a *authority) issue(n *node, names []string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key of %s: %w", n.id, err)
	}
	t := template(n.id)
	t.KeyUsage = x509.KeyUsageDigitalSignature
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	t.DNSNames = append([]string{"localhost"}, names...)
	t.IPAddresses = []net.IP{net.ParseIP(n.host), net.ParseIP(loopback), net.IPv6loopback}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return fmt.Errorf("make the certificate of %s: %w", n.id, err)
	}
	if err := writePEM(filepath.Join(n.dir, certFile), "CERTIFICATE", der); err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("make the key of %s: %w", n.id, err)
	}
	return writePEM(filepath.Join(n.dir, keyFile), "PRIVATE KEY", private)
}

// config is what a client needs to trust the nodes.
func (a *authority) config() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
