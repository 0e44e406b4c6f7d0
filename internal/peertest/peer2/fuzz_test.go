package peer2_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/peertest/peer2"
)

// FuzzParse checks that Parse takes any bytes, and that what it accepts has one encoding.
func FuzzParse(f *testing.F) {
	for _, c := range messages {
		f.Add([]byte(peertest.Bytes(f, c.hex)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := peer2.Parse(b)
		if err != nil || m.Type == peer2.ConnProp { // padding may have any value
			return
		}
		if got := m.Bytes(); !bytes.Equal(got, b) {
			t.Errorf("%x decodes as %v, which encodes as %x", b, m, got)
		}
		_ = m.String()
	})
}
