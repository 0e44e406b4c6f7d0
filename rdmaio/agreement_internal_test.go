package rdmaio

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/internal/header"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/protocol"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v1"
	"github.com/rpcrdma/rpcrdma/rdmaio/internal/v2"
)

// Terms of version 1, from the setup of a connection, replace terms of version 1 alone: the first
// message of a peer may have brought the terms of version 2 before.
func TestSetupKeepsTheTermsOfVersionTwo(t *testing.T) {
	one, two := new(v1.Version), v2.New(v2.Config{})
	for _, tt := range []struct {
		name  string
		first protocol.Version
		known bool
		send  int
	}{
		{"version 1", one, false, 1024}, {"version 1, known", one, true, 1024}, {"version 2", two, false, 4096}, {"version 2, known", two, true, 4096},
	} {
		var a agreement
		a.offer([]protocol.Version{tt.first}, 4096)
		var v protocol.Version
		if tt.known {
			v = tt.first
		}
		a.take(&header.Terms{Send: 4096}, v)
		a.apply(header.Terms{Send: 1024})
		if got := a.Load(); got.Send != tt.send || got.known != tt.known || got.version != tt.first {
			t.Errorf("%s: messages of %d bytes, want %d; known %t", tt.name, got.Send, tt.send, got.known)
		}
	}
}
