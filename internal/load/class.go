package load

import "fmt"

// Class is what kind of failure an operation met; the zero value is success.
type Class uint8

// The classes. Unsent is not an error of the service: the operation was due
// and never sent, since no worker was free within its patience.
const (
	OK          Class = iota
	ReadOnly          // a replica refused a write
	Moved             // MOVED or ASK that the driver did not follow
	ClusterDown       // CLUSTERDOWN, MASTERDOWN, TRYAGAIN: the cluster cannot serve the slot now
	Loading           // the node is loading its data set
	Refused           // connection refused, unreachable
	Reset             // connection closed or reset
	Timeout           // dial, read or write
	PoolTimeout       // no connection of the driver's pool was free in time
	DNS               // the name did not resolve
	TLS               // handshake or certificate
	Auth              // wrong or missing credentials, or no permission
	OOM               // out of memory: maxmemory reached
	Missing           // an answer came, without a member that must be there
	Unsent            // due, not sent
	Other
)

// NumClasses is the number of classes; every Class is below it.
const NumClasses = 16

var classNames = [NumClasses]string{
	"ok", "readonly", "moved", "clusterdown", "loading", "refused", "reset", "timeout",
	"pool_timeout", "dns", "tls", "auth", "oom", "missing", "unsent", "other",
}

// String returns the name used on the screen and in results.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}
