package observe

import (
	"sync"
	"time"
)

// askFor is how long after an ASK the node that it named is asked with ASKING.
// The next ASK makes it longer. ASKING does no harm where nothing is imported.
const askFor = time.Second

// asks knows which nodes import the canary's slot. While a slot moves, its old
// owner answers ASK for keys that have gone already, and the new one takes a
// command on them only after ASKING (https://redis.io/commands/asking).
type asks struct {
	mu    sync.Mutex
	until map[string]time.Duration // by address
}

func (a *asks) send(addr string, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil {
		a.until = map[string]time.Duration{}
	}
	a.until[addr] = now + askFor
}

func (a *asks) due(addr string, now time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return now < a.until[addr]
}
