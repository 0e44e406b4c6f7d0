//go:build race || asan || memcheck || (memguard && linux)

package soft

import (
	"fmt"
	"strings"
	"sync"
)

// ledger records, in builds that check memory, the stack that created each object of a
// device. The error of Device.Close has the stacks of the objects that are left.
type ledger struct {
	mu   sync.Mutex
	made map[any]origin
}

func (l *ledger) add(object any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made == nil {
		l.made = make(map[any]origin)
	}
	l.made[object] = here()
}

func (l *ledger) remove(object any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.made, object)
}

// String lists the objects that are left, in no order.
func (l *ledger) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for object, origin := range l.made {
		fmt.Fprintf(&b, "\n%T created by%v", object, origin)
	}
	return b.String()
}
