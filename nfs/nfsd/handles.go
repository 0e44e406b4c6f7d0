package nfsd

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// A handle has the mark, the ID of its file and a MAC of these.
const (
	handleMark = "nfs\x01"
	handleBody = len(handleMark) + len(vfs.ID{})
	handleSize = handleBody + 16
)

// handles makes handles of IDs, and opens them.
type handles struct {
	key  []byte
	macs sync.Pool // of *keyed
}

// seal returns the handle of a file.
func (t *handles) seal(id vfs.ID) nfs3.Handle {
	b := append(make([]byte, 0, handleSize), handleMark...)
	b = append(b, id[:]...)
	mac := t.mac(b)
	return nfs3.Handle{Data: append(b, mac[:]...)}
}

// open returns the ID in a handle that seal made.
func (t *handles) open(handle []byte) (id vfs.ID, ok bool) {
	if len(handle) != handleSize || string(handle[:len(handleMark)]) != handleMark {
		return id, false
	}
	body, mac := handle[:handleBody], handle[handleBody:]
	if want := t.mac(body); !hmac.Equal(mac, want[:]) {
		return id, false
	}
	return vfs.ID(body[len(handleMark):]), true
}

// keyed computes MACs with a key.
type keyed struct {
	hash.Hash
	sum [sha256.Size]byte
}

// mac returns the first half of a text's MAC.
func (t *handles) mac(text []byte) (mac [handleSize - handleBody]byte) {
	h, ok := t.macs.Get().(*keyed)
	if !ok {
		h = &keyed{Hash: hmac.New(sha256.New, t.key)}
	}
	defer t.macs.Put(h)
	h.Reset()
	h.Write(text)
	copy(mac[:], h.Sum(h.sum[:0]))
	return mac
}
