package config

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func (r reader) target(k targetKeys) Target {
	r.oneOf("target.mode", k.Mode, Cluster, Standalone, Endpoints)
	r.addresses(k)
	r.endpoints(k)
	r.resolver(k)
	r.password(k)
	return Target{
		Mode:         k.Mode,
		Addresses:    k.Addresses,
		Primary:      k.Primary,
		Reader:       k.Reader,
		Resolver:     k.Resolver,
		TLS:          r.tls(k.TLS),
		Username:     k.Username,
		PasswordEnv:  k.PasswordEnv,
		PasswordFile: r.path(k.PasswordFile),
	}
}

// addresses checks how many there are in each mode, and each of them.
func (r reader) addresses(k targetKeys) {
	const path = "target.addresses"
	switch n := len(k.Addresses); {
	case k.Mode == Endpoints && r.doc.Has(path):
		r.doc.Errorf(path, "does not go with mode endpoints; use primary and reader")
	case k.Mode == Cluster && n == 0:
		r.doc.Errorf(path, "is missing: at least one host:port, in ElastiCache the configuration endpoint")
	case k.Mode == Standalone && n != 1:
		r.doc.Errorf(path, "mode standalone takes exactly one host:port, not %d", n)
	}
	for i, a := range k.Addresses {
		r.address(fmt.Sprintf("%s.%d", path, i), a)
	}
}

func (r reader) endpoints(k targetKeys) {
	if k.Mode == Endpoints && !r.doc.Has("target.primary") {
		r.doc.Errorf("target.primary", "is missing: host:port of the primary endpoint")
	}
	r.endpoint("target.primary", k.Primary, k.Mode)
	r.endpoint("target.reader", k.Reader, k.Mode)
}

func (r reader) endpoint(path, address, mode string) {
	switch {
	case !r.doc.Has(path):
	case mode == Cluster || mode == Standalone:
		r.doc.Errorf(path, "goes with mode endpoints only; use addresses")
	default:
		r.address(path, address)
	}
}

// resolver takes no name: there would be nobody to ask for it. What holds an @
// may hold a password and is not repeated.
func (r reader) resolver(k targetKeys) {
	const path = "target.resolver"
	at, err := netip.ParseAddrPort(k.Resolver)
	switch {
	case !r.doc.Has(path) || err == nil && at.Port() != 0:
	case strings.Contains(k.Resolver, "@"):
		r.doc.Errorf(path, "is not ip:port")
	default:
		r.doc.Errorf(path, "%q is not ip:port, such as 127.0.0.1:5353; a name could not be looked up", k.Resolver)
	}
}

// address reports what is wrong with a host:port.
func (r reader) address(path, address string) {
	if problem := addressProblem(address); problem != "" {
		r.doc.Errorf(path, "%s", problem)
	}
}

// addressProblem does not repeat an address that may hold a password.
func addressProblem(address string) string {
	if strings.Contains(address, "@") {
		return "is not host:port; user and password do not go into it, see username, password_env and password_file"
	}
	if strings.Contains(address, "://") {
		return fmt.Sprintf("%q is not host:port; leave the scheme away, and say tls: true for rediss", address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || !validHost(host) {
		return fmt.Sprintf("%q is not host:port, such as 127.0.0.1:6379 or [::1]:6379", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Sprintf("%q has no port in 1 … 65535", address)
	}
	return ""
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)

// validHost takes names and addresses; IPv6 may have a zone.
func validHost(host string) bool {
	bare, _, _ := strings.Cut(host, "%")
	return hostName.MatchString(host) || net.ParseIP(bare) != nil
}

func (r reader) tls(k *tlsKeys) *TLS {
	if k == nil {
		return nil
	}
	if (k.CertFile == "") != (k.KeyFile == "") {
		r.doc.Errorf("target.tls", "cert_file and key_file go together: a client certificate and its key")
	}
	return &TLS{
		CAFile:             r.path(k.CAFile),
		CertFile:           r.path(k.CertFile),
		KeyFile:            r.path(k.KeyFile),
		ServerName:         k.ServerName,
		InsecureSkipVerify: k.InsecureSkipVerify,
	}
}

// variable is what can be named in an environment.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// password does not repeat what stands in password_env: if it is no name, it
// may be the password itself.
func (r reader) password(k targetKeys) {
	if r.doc.Has("target.password_env") && !variable.MatchString(k.PasswordEnv) {
		r.doc.Errorf("target.password_env", "is not the name of an environment variable")
	}
	if k.PasswordEnv != "" && k.PasswordFile != "" {
		r.doc.Errorf("target.password_file", "does not go with password_env; use one of them")
	}
}

// path makes a path of the config relative to the config's folder.
func (r reader) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(r.folder, p)
}

// oneOf reports a word that is given and not in the list.
func (r reader) oneOf(path, word string, words ...string) {
	switch {
	case !r.doc.Has(path) || slices.Contains(words, word):
	case looksSecret(word):
		r.doc.Errorf(path, "is not one of: %s", strings.Join(words, ", "))
	default:
		r.doc.Errorf(path, "%q is not one of: %s", word, strings.Join(words, ", "))
	}
}
