package api

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard refuses what no AWS client sends: since callers are not verified, any
// page in a browser on this machine could otherwise delete a group. A page gives
// itself away by Origin, or, where it only loads an image, by Sec-Fetch-Site; a
// page that had its own name resolve to loopback, by Host.
func guard(r *http.Request) error {
	if !loopbackHost(r.Host) {
		return refuseWith(http.StatusForbidden, codeForbidden,
			"This local ElastiCache answers only to 127.0.0.0/8, ::1 and localhost, not to %q.", shown(r.Host))
	}
	_, origin := r.Header["Origin"]
	site := r.Header.Get("Sec-Fetch-Site")
	if origin || site != "" && site != "none" {
		return refuseWith(http.StatusForbidden, codeForbidden, "This local ElastiCache does not answer to web pages.")
	}
	return nil
}

// loopbackHost reports whether host, with or without a port, is loopback by its
// form. Names other than localhost are not looked up: what they resolve to is
// the caller's to say.
func loopbackHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
