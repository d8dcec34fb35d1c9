// Package api is the endpoint of the local ElastiCache: one http.Handler that
// speaks the protocols AWS's own clients speak, so that a tool written for AWS
// works against it unchanged when it is given its address.
//
// It does not know what a replication group does: that is Plane, and what its
// nodes measured is Metrics. Nor does it know who calls: signatures are neither
// asked for nor verified, and therefore it answers on loopback only.
//
// A request goes through these steps, in order:
//
//  1. guard: it is for a loopback name and does not come from a web page.
//  2. protocol: AWS Query, AWS JSON or Smithy RPC v2 CBOR, by path and headers.
//  3. read: the body (at most 1 MiB) becomes service, action and args, which are
//     the same for all protocols.
//  4. action: the args are checked for their form, then Plane or Metrics is asked.
//  5. record: a call that changes something is handed to Plane for CloudTrail,
//     whether it was accepted or refused.
//  6. write: the result, or the refusal as AWS writes it in that protocol.
package api

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/rankbench/rankbench/internal/local/control"
	"github.com/rankbench/rankbench/internal/local/metrics"
)

// Plane is the control plane behind the endpoint. All its methods are called
// concurrently. What it refuses is a *control.Error; any other error is a defect
// and reaches the caller as InternalFailure, without its text. Ids come in lower
// case. What Plane returns is not changed.
type Plane interface {
	// ReplicationGroups returns the group of that id, or with "" all of them,
	// sorted by id.
	ReplicationGroups(id string) ([]control.ReplicationGroup, error)
	// CacheClusters returns the node of that id, or with "" all, sorted by id.
	CacheClusters(id string) ([]control.CacheCluster, error)
	// Events returns the events that pass the filter, newest first.
	Events(control.EventFilter) []control.Event

	CreateReplicationGroup(context.Context, control.CreateInput) (control.ReplicationGroup, error)
	DeleteReplicationGroup(ctx context.Context, id string) (control.ReplicationGroup, error)
	TestFailover(ctx context.Context, group, nodeGroup string) (control.ReplicationGroup, error)
	IncreaseReplicaCount(context.Context, control.ReplicaChange) (control.ReplicationGroup, error)
	DecreaseReplicaCount(context.Context, control.ReplicaChange) (control.ReplicationGroup, error)
	ModifyShards(context.Context, control.ShardChange) (control.ReplicationGroup, error)
	RebootCacheCluster(ctx context.Context, id string, nodes []string) (control.CacheCluster, error)

	// Tags, AddTags and RemoveTags return the tags the resource has afterwards.
	Tags(arn string) (map[string]string, error)
	AddTags(arn string, tags map[string]string) (map[string]string, error)
	RemoveTags(arn string, keys []string) (map[string]string, error)

	// Record keeps a call that changes something, accepted or refused.
	Record(control.Call)
	// Calls returns the recorded calls, newest first.
	Calls() []control.Call

	Account() string
	Region() string
}

// Metrics is what the nodes measured. Its methods are called concurrently.
type Metrics interface {
	// Metrics returns the series there are, those of deleted nodes included
	// while their points are kept.
	Metrics() []metrics.Metric
	// Points returns the points of one series, oldest first.
	Points(metrics.Query) ([]metrics.Point, error)
}

// New returns the handler of the endpoint. Panics and defects go to log, a line
// each with the request id; requests do not.
func New(p Plane, m Metrics, log io.Writer) http.Handler {
	return newHandler(p, m, log, time.Now)
}

type handler struct {
	plane    Plane
	metrics  Metrics
	log      *log.Logger
	now      func() time.Time
	services []*service
}

func newHandler(p Plane, m Metrics, w io.Writer, now func() time.Time) *handler {
	h := &handler{plane: p, metrics: m, log: log.New(w, "", 0), now: now}
	h.services = []*service{h.elastiCache(), h.sts(), h.cloudWatch(), h.cloudTrail()}
	return h
}

// service is one AWS service, with the names by which protocols choose it.
type service struct {
	version   string // of the API, in Query; "" if it does not speak Query
	namespace string // of the XML
	target    string // before the action in X-Amz-Target and in the path of CBOR; "" if it speaks neither
	json      string // version of AWS JSON
	cbor      bool
	dialect   dialect
	shapes    map[string]string // codes of refusals to names of shapes, where AWS JSON and CBOR differ from Query
	actions   map[string]action
}

// action is one operation of a service. Its result is a struct for encoding/xml
// if the service speaks only Query, otherwise a record.
type action struct {
	do      func(context.Context, *call) (any, error)
	changes bool // something; recorded for CloudTrail
}

// call is a request that was understood.
type call struct {
	requestID string
	userAgent string
	at        time.Time
	service   *service
	action    string
	args      args
	given     map[string]string // parameters of Query as they came
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{requestID: newID(), userAgent: r.UserAgent(), at: h.now()}
	w.Header().Set("x-amzn-RequestId", c.requestID)
	status, body := h.answer(w, r, c)
	w.WriteHeader(status)
	// an error here is a client that went away
	_, _ = w.Write(body)
}

// answer is the whole answer in memory, so that what goes wrong while it is
// being written still becomes a refusal, not half an answer.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, c *call) (status int, body []byte) {
	p := protocolOf(r)
	defer func() {
		if cause := recover(); cause != nil {
			h.log.Printf("%s: panic: %v\n%s", c.name(), cause, debug.Stack())
			status, body = http.StatusInternalServerError, p.refuse(w.Header(), c, internalFailure())
		}
	}()
	result, err := h.serve(w, r, p, c)
	if err == nil {
		body, err = p.write(w.Header(), c, result)
	}
	if err != nil {
		refusal := h.refusal(c, err)
		return refusal.Status, p.refuse(w.Header(), c, refusal)
	}
	return http.StatusOK, body
}

func (h *handler) serve(w http.ResponseWriter, r *http.Request, p protocol, c *call) (any, error) {
	if err := guard(r); err != nil {
		return nil, err
	}
	if err := p.accepts(r); err != nil {
		return nil, err
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	if err := p.read(h.services, r, body, c); err != nil {
		return nil, err
	}
	return h.run(r.Context(), c, c.service.actions[c.action])
}

func (h *handler) run(ctx context.Context, c *call, a action) (any, error) {
	if !a.changes {
		return a.do(ctx, c)
	}
	// a client that goes away does not undo what AWS has accepted
	result, err := a.do(context.WithoutCancel(ctx), c)
	h.plane.Record(c.recorded(err))
	return result, err
}

// bodyLimit is far above the largest call there is: 500 metrics, about 200 KB.
const bodyLimit = 1 << 20

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, &control.Error{Code: "RequestEntityTooLarge", Status: http.StatusRequestEntityTooLarge,
			Message: "The body of the request is larger than 1 MiB."}
	}
	if err != nil {
		return nil, refuse("IncompleteBody", "The body of the request could not be read.")
	}
	return body, nil
}

// name is what the log calls the call by.
func (c *call) name() string {
	if c.action == "" {
		return "request " + c.requestID
	}
	return c.action + " " + c.requestID
}
