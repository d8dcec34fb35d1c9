package live

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/rankbench/rankbench/internal/page"
)

const (
	// most is how many may look on at a time: a run is not a public site.
	most = 32
	// sendLimit is how long one message may take to a viewer that does not read.
	sendLimit = 10 * time.Second
	// retry is what a browser waits before it asks again.
	retry = time.Second
)

// Handler answers the page at / and its stream at /stream. Requests must name the
// server by an IP address, localhost, or the host of addr: a site that has its own
// name point here (DNS rebinding) sees nothing.
func (p *Page) Handler(addr string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.document)
	mux.HandleFunc("GET /stream", p.stream)
	return named(addr, mux)
}

func named(addr string, next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(addr)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if _, err := netip.ParseAddr(host); err != nil && host != "localhost" && host != own {
			http.Error(w, "this page is asked for by its address", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (p *Page) document(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	if err := page.LiveHTML(&b, p.run); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = b.WriteTo(w) // the viewer has gone: nobody to tell
}

// viewer is one stream: what it was sent last.
type viewer struct {
	w             http.ResponseWriter
	send          *http.ResponseController
	frame, status int
}

// stream sends events, one after the other, as they come up:
// https://html.spec.whatwg.org/multipage/server-sent-events.html.
func (p *Page) stream(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		http.Error(w, fmt.Sprintf("%d look on already", most), http.StatusServiceUnavailable)
		return
	}
	defer p.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	v := &viewer{w: w, send: http.NewResponseController(w), status: -1}
	if _, err := fmt.Fprintf(w, "retry: %d\n\n", retry.Milliseconds()); err != nil {
		return
	}
	for {
		s := p.now()
		if err := v.follow(s); err != nil || s.ended != nil || s.gone {
			return
		}
		select {
		case <-s.changed:
		case <-r.Context().Done():
			return
		}
	}
}

func (p *Page) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.viewers == most {
		return false
	}
	p.viewers++
	p.wake()
	return true
}

func (p *Page) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.viewers--
}

// follow sends what the viewer lacks.
func (v *viewer) follow(s state) error {
	// The server's own limits are those of a request that ends.
	if err := errors.Join(v.send.SetReadDeadline(time.Time{}), v.send.SetWriteDeadline(time.Now().Add(sendLimit))); err != nil {
		return err
	}
	var b bytes.Buffer
	if f := s.frame; f != nil && f.number != v.frame {
		if f.tail != nil && f.number == v.frame+1 {
			event(&b, "tail", f.tail)
		} else {
			event(&b, "model", f.whole())
		}
		v.frame = f.number
	}
	if s.statusNo != v.status {
		event(&b, "status", encode(s.status))
		v.status = s.statusNo
	}
	if s.ended != nil {
		event(&b, "end", encode(*s.ended))
	}
	if _, err := b.WriteTo(v.w); err != nil {
		return err
	}
	return v.send.Flush()
}

func event(b *bytes.Buffer, name string, data []byte) {
	fmt.Fprintf(b, "event: %s\ndata: %s\n\n", name, data)
}
