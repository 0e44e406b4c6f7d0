package rdmaio_test

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/peertest"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// any rights that a peer can give.
const anyAccess = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite | verbs.AccessRemoteInvalidate

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	return peertest.Bytes(t, s)
}

// rawTo is a raw peer connected to the world's server, without private data.
func (w *world) rawTo(t *testing.T) *peertest.Peer {
	t.Helper()
	p := peertest.New(t, w.client)
	p.Dial(w.client, w.addr, nil)
	return p
}
