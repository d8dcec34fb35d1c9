package observe

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// role is the reply to ROLE (https://redis.io/commands/role): for a primary
// "master", offset, replicas as [host, port, offset]; for a replica "slave",
// the primary's host and port, state, offset.
type role struct {
	name     string   // primary, replica, or what the server said
	primary  string   // a replica's primary, host:port
	replicas []string // a primary's replicas, host:port
}

func parseRole(reply []any) (role, error) {
	if len(reply) == 0 {
		return role{}, fmt.Errorf("empty reply to ROLE")
	}
	switch name := fmt.Sprint(reply[0]); name {
	case "master":
		return role{name: "primary", replicas: parseReplicas(reply)}, nil
	case "slave":
		return role{name: "replica", primary: parsePrimary(reply)}, nil
	default:
		return role{name: name}, nil
	}
}

func parseReplicas(reply []any) (addrs []string) {
	if len(reply) < 3 {
		return nil
	}
	list, _ := reply[2].([]any)
	for _, r := range list {
		if r, _ := r.([]any); len(r) >= 2 {
			addrs = appendAddr(addrs, fmt.Sprint(r[0]), fmt.Sprint(r[1]))
		}
	}
	return addrs
}

func parsePrimary(reply []any) string {
	if len(reply) < 3 {
		return ""
	}
	addrs := appendAddr(nil, fmt.Sprint(reply[1]), fmt.Sprint(reply[2]))
	return strings.Join(addrs, "")
}

// appendAddr leaves out what cannot be dialled: a replica without a port yet, or no host.
func appendAddr(addrs []string, host, port string) []string {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || host == "" {
		return addrs
	}
	return append(addrs, net.JoinHostPort(host, port))
}

// member is a line of CLUSTER NODES that names a node with an address.
type member struct {
	id     string
	addr   string // what to dial: the host name where the node announces one, else the IP
	ip     string // host:port with the IP, as a replica's INFO names its primary
	myself bool
}

// parseClusterNodes reads CLUSTER NODES as the node at address from told it
// (https://redis.io/commands/cluster-nodes):
//
//	<id> <ip:port@cport[,hostname[,key=value…]]> <flags> <primary> <ping> <pong> <epoch> <link> <slots…>
//
// IPv6 addresses stand without brackets. Under TLS hosts are announced by name,
// which the certificate is for. A node that has not met another yet does not
// know its own IP and leaves it empty: it is the host asked. Nodes in handshake
// or without an address are left out. Lines of another form are skipped.
func parseClusterNodes(text, from string) []member {
	host, _, err := net.SplitHostPort(from)
	if err != nil {
		host = from
	}
	members := []member{}
	for line := range strings.Lines(text) {
		if m, ok := parseMember(strings.Fields(line), host); ok {
			members = append(members, m)
		}
	}
	return members
}

func parseMember(fields []string, askedHost string) (member, bool) {
	if len(fields) < 3 {
		return member{}, false
	}
	flags := strings.Split(fields[2], ",")
	if slices.Contains(flags, "handshake") || slices.Contains(flags, "noaddr") {
		return member{}, false
	}
	ip, name, port, ok := cutAddress(fields[1])
	if !ok {
		return member{}, false
	}
	if ip == "" {
		ip = askedHost
	}
	if name == "" || name == "?" {
		name = ip
	}
	return member{
		id:     fields[0],
		addr:   net.JoinHostPort(name, port),
		ip:     net.JoinHostPort(ip, port),
		myself: slices.Contains(flags, "myself"),
	}, name != ""
}

// cutAddress takes ip:port@cport,hostname,key=value apart; Redis 3 has no @cport, Redis before 7 no hostname.
func cutAddress(s string) (ip, name, port string, ok bool) {
	addr, rest, _ := strings.Cut(s, ",")
	name, _, _ = strings.Cut(rest, ",")
	if strings.Contains(name, "=") {
		name = ""
	}
	addr, _, _ = strings.Cut(addr, "@")
	colon := strings.LastIndexByte(addr, ':')
	if colon < 0 {
		return "", "", "", false
	}
	ip, port = addr[:colon], addr[colon+1:]
	n, err := strconv.ParseUint(port, 10, 16)
	return ip, name, port, err == nil && n > 0
}
