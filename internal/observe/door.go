package observe

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rankbench/rankbench/internal/result"
)

// errNotPrimary is what a primary endpoint means for a service when it leads to a replica.
var errNotPrimary = errors.New("the primary endpoint leads to a replica")

// The cells of fresh connections.
const (
	cellConnect        = "connect"
	cellConnectPrimary = "connect_primary"
)

// door is one endpoint, through which fresh connections are made. Only its
// goroutine touches it.
type door struct {
	probe      *Probe
	end        Endpoint
	now        func() time.Duration
	opt        Options // with the host that the certificate must be for
	host, port string
	leads      []netip.Addr // where the name leads to; nil before the first answer
}

func newDoor(p *Probe, e Endpoint, now func() time.Duration) *door {
	d := &door{probe: p, end: e, now: now, opt: p.opt}
	var err error
	if d.host, d.port, err = net.SplitHostPort(e.Addr); err != nil {
		d.host = e.Addr // dialling says what is wrong with it
	}
	if tc := p.opt.TLS; tc != nil && tc.ServerName == "" {
		d.opt.TLS = tc.Clone()
		d.opt.TLS.ServerName = d.host
	}
	return d
}

// knock does what a service does that is being started.
func (d *door) knock(run context.Context) {
	ctx, cancel := context.WithTimeout(run, d.opt.Timeout)
	defer cancel()
	err := d.enter(ctx)
	if err == nil || !over(run) { // else cut short by the end of the run
		d.probe.cells.record(d.end.Name, d.now(), err)
	}
}

func (d *door) enter(ctx context.Context) error {
	addrs, err := d.resolve(ctx)
	if err != nil {
		return err
	}
	s, err := d.dialAny(ctx, addrs)
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }() // whether it worked is known by then
	return d.greet(ctx, s.client)
}

// greet wants an answer and, of the primary's endpoint, a primary.
func (d *door) greet(ctx context.Context, c *redis.Client) error {
	if err := c.Ping(ctx).Err(); err != nil {
		return err
	}
	role, err := readRole(c.Do(ctx, "role"))
	if err == nil && d.end.Name == cellConnectPrimary && role.name != "primary" {
		return errNotPrimary
	}
	return err
}

// resolve asks where the endpoint leads to and tells when that has changed. The
// order of several addresses turns with each answer, and is no change.
func (d *door) resolve(ctx context.Context) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(d.host); err == nil {
		return []netip.Addr{ip}, nil
	}
	addrs, err := d.resolver().LookupNetIP(ctx, "ip", d.host)
	if err != nil {
		return nil, err
	}
	sorted := slices.SortedFunc(slices.Values(addrs), netip.Addr.Compare)
	if was := d.leads; was != nil && !slices.Equal(was, sorted) {
		d.tellMoved(was, sorted)
	}
	d.leads = sorted
	return addrs, nil
}

func (d *door) resolver() *net.Resolver { return cmp.Or(d.opt.Resolver, net.DefaultResolver) }

func (d *door) tellMoved(was, is []netip.Addr) {
	_, kind, _ := strings.Cut(d.end.Name, cellConnect+"_")
	what := strings.TrimSpace(kind + " endpoint")
	d.probe.roles.say(result.Event{
		AtS: d.now().Seconds(), Source: sourceDNS, Subject: d.host,
		Message: what + " now leads to " + list(is) + " (was " + list(was) + ")",
	})
}

func list(addrs []netip.Addr) string {
	texts := make([]string, len(addrs))
	for i, a := range addrs {
		texts[i] = a.Unmap().String()
	}
	return strings.Join(texts, ", ")
}

// dialAny tries the addresses in the order of the answer until one takes the connection.
func (d *door) dialAny(ctx context.Context, addrs []netip.Addr) (s *session, err error) {
	for _, ip := range addrs {
		if s, err = dial(ctx, net.JoinHostPort(ip.Unmap().String(), d.port), d.opt); err == nil {
			break
		}
	}
	return s, err
}
