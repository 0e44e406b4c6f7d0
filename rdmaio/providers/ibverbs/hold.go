package ibverbs

import (
	"errors"
	"fmt"
	"sync"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/lib"
)

// A queue that the program shares with the kernel is mapped from the device's file. The kernel
// gives it the first pages of the file that are free: a context's first completion queue is at the
// page with number 0. The library of siw, however, uses the offset 0x90000, page 144, to mean "no
// mapping" (SIW_INVAL_UOBJ_KEY in rdma/siw-abi.h). It destroys an object whose queue gets that
// page, and returns an error without an errno. Every further object gets the same page, and fails,
// until others are destroyed. With 128 requests in each queue that happens to the 17th queue pair.
//
// So the first device that is opened on a context takes the page by a completion queue. The last
// device that is closed gives it back.

const (
	refusedOffset   = 0x90000
	entrySize, tail = 32, 8 // bytes of a completion, and of what follows the last one
	keptEntries     = 1024  // of the queue that stays, unless that is one page
)

// fillers returns completion queues, by their entries, that take the first pages of a context, up
// to the refused one. The last one stays: the refused page is in it, and not its first. With pages
// of 4 KiB they take pages 0 to 128, 129 to 137, and 138 to 146. Entries are powers of 2.
func fillers(page int) (queues []int) {
	pages := func(entries int) int { return (entries*entrySize + tail + page - 1) / page }
	kept := keptEntries
	for pages(kept) < 2 {
		kept *= 2
	}
	refused := refusedOffset / page
	for first := 0; first+pages(kept) <= refused; {
		entries := 1
		for first+pages(2*entries) < refused {
			entries *= 2
		}
		queues = append(queues, entries)
		first += pages(entries)
	}
	return append(queues, kept)
}

// heldPages has the contexts whose page is taken. A process has one context of a device, which all
// Devices of that device share.
type heldPages struct {
	mu sync.Mutex
	of map[lib.Context]*heldPage
}

var holds = heldPages{of: make(map[lib.Context]*heldPage)}

// heldPage is a page that is taken.
type heldPage struct {
	cq      lib.CQ
	devices int
}

// take takes the page for a device, if its library refuses it. give must follow.
func (p *heldPages) take(d *hardware) (err error) {
	if !d.quirks.RefusedPage {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.of[d.ctx]
	if h == nil {
		if h, err = newHold(d.lib, d.ctx, d.page); err != nil {
			return d.fail("hold the page that the library refuses", err)
		}
		p.of[d.ctx] = h
	}
	h.devices++
	d.holdsPage = true
	return nil
}

// give gives the page back, if the device is the last one that has it.
func (p *heldPages) give(d *hardware) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !d.holdsPage {
		return nil
	}
	d.holdsPage = false
	h := p.of[d.ctx]
	if h.devices--; h.devices > 0 {
		return nil
	}
	delete(p.of, d.ctx)
	return d.lib.DestroyCQ(h.cq)
}

// newHold creates the fillers, and destroys all but the last.
func newHold(l lib.Lib, ctx lib.Context, page int) (_ *heldPage, err error) {
	var queues []lib.CQ
	defer func() {
		if err != nil {
			for _, cq := range queues {
				err = errors.Join(err, l.DestroyCQ(cq))
			}
		}
	}()
	for _, entries := range fillers(page) {
		cq, err := l.CreateCQ(ctx, entries, 0, 0, 0)
		if err != nil {
			return nil, fmt.Errorf("create a completion queue of %d entries: %w", entries, err)
		}
		queues = append(queues, cq)
	}
	for len(queues) > 1 {
		cq := queues[0]
		queues = queues[1:]
		if err := l.DestroyCQ(cq); err != nil {
			return nil, err
		}
	}
	return &heldPage{cq: queues[0]}, nil
}
