package ibverbs

import (
	"os"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
)

// area is the memory outside the Go heap that a queue pair shares with the library: requests of one
// post with their elements, completions of one poll, and private data. The queue pair's lock guards
// it, except private.
type area struct {
	mem     []byte
	sges    int // elements of a request
	reqs    []byte
	lists   []byte
	wcs     []byte
	private []byte // for the goroutine in Dial or Accept
}

const maxPrivate = 256

// newArea returns an area for requests of at most so many elements.
func newArea(sges int) (*area, error) {
	requests, lists, wcs := postBatch*abi.SendWRSize, postBatch*sges*abi.SGESize, pollBatch*abi.WCSize
	page := os.Getpagesize()
	mem, err := mapMemory((requests + lists + wcs + maxPrivate + page - 1) &^ (page - 1))
	if err != nil {
		return nil, err
	}
	a := &area{mem: mem, sges: sges}
	for _, p := range []struct {
		to *[]byte
		n  int
	}{{&a.reqs, requests}, {&a.lists, lists}, {&a.wcs, wcs}, {&a.private, maxPrivate}} {
		*p.to, mem = mem[:p.n:p.n], mem[p.n:]
	}
	return a, nil
}

func (a *area) close() error { return unmapMemory(a.mem) }

// list writes the elements of a post's request i, and returns their address and number. It leaves
// out elements of no bytes, because the kernel's siw was seen to crash on them.
func (a *area) list(i int, sgl []element) (addr uintptr, n uint32) {
	b := a.lists[i*a.sges*abi.SGESize:]
	for k := range sgl {
		if e := &sgl[k]; e.length > 0 {
			abi.SGE{Addr: e.addr, Length: e.length, LKey: e.lkey}.Put(b[n*abi.SGESize:])
			n++
		}
	}
	if n == 0 {
		return 0, 0
	}
	return abi.Addr(b), n
}

// empty writes a list with one element of no bytes for request i of a post.
func (a *area) empty(i int) (addr uintptr, n uint32) {
	b := a.lists[i*a.sges*abi.SGESize:]
	abi.SGE{}.Put(b)
	return abi.Addr(b), 1
}

// sendAt and recvAt return the memory for request i of a post.
func (a *area) sendAt(i int) []byte { return a.reqs[i*abi.SendWRSize : (i+1)*abi.SendWRSize] }
func (a *area) recvAt(i int) []byte { return a.reqs[i*abi.RecvWRSize : (i+1)*abi.RecvWRSize] }
