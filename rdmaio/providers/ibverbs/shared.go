package ibverbs

import (
	"slices"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

// openDevices has the started Devices by their context. A process has one context of a device,
// which all Devices of that device share, and with it the file of asynchronous events: any of them
// may take an event that concerns another.
type openDevices struct {
	mu sync.Mutex
	of map[lib.Context][]*Device
}

var opened = openDevices{of: make(map[lib.Context][]*Device)}

func (o *openDevices) add(d *Device) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.of[d.ctx] = append(o.of[d.ctx], d)
}

// remove removes a Device, if it was added. No later call of each uses it.
func (o *openDevices) remove(d *Device) {
	o.mu.Lock()
	defer o.mu.Unlock()
	left := slices.DeleteFunc(o.of[d.ctx], func(other *Device) bool { return other == d })
	if o.of[d.ctx] = left; len(left) == 0 {
		delete(o.of, d.ctx)
	}
}

// each calls f, which must not wait, for the Devices of a context.
func (o *openDevices) each(ctx lib.Context, f func(*Device)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, d := range o.of[ctx] {
		f(d)
	}
}
