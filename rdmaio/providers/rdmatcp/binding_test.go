package rdmatcp_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Over TLS 1.3 both ends have the binding of RFC 9266, which no other session has. A queue pair
// over another stream has no binding (R308).
func TestChannelBinding(t *testing.T) {
	cert := certificate(t)
	over13 := func(version uint16) (c, s *victim, ends [2]*tls.Conn) {
		a, b := tcpPair(t)
		ends[0] = tls.Client(a, &tls.Config{InsecureSkipVerify: true, MaxVersion: version})
		ends[1] = tls.Server(b, &tls.Config{Certificates: []tls.Certificate{cert}})
		c, s = over(t, nil, ends[0], ends[1])
		return c, s, ends
	}
	var last []byte
	for range 2 {
		c, s, ends := over13(tls.VersionTLS13)
		state := ends[1].ConnectionState()
		want, err := state.ExportKeyingMaterial("EXPORTER-Channel-Binding", []byte{}, 32)
		if err != nil || bytes.Equal(want, last) {
			t.Fatalf("%x, %v", want, err)
		}
		last = want
		for _, v := range []*victim{c, s} {
			got, err := verbs.BindingOf(v.qp)
			if err != nil || got.Type != "tls-exporter" || !bytes.Equal(got.Data, want) {
				t.Errorf("%+v, %v, want %x", got, err, want)
			}
		}
	}
	none := func(v *victim, want error) {
		t.Helper()
		if got, err := verbs.BindingOf(v.qp); !errors.Is(err, want) || got.Data != nil {
			t.Errorf("%+v, %v, want %v", got, err, want)
		}
	}
	c, s, _ := over13(tls.VersionTLS12)
	none(c, verbs.ErrNotSupported)
	none(s, verbs.ErrNotSupported)
	a, b := net.Pipe()
	c, _ = over(t, nil, a, b)
	none(c, verbs.ErrNotSupported)
	none(&victim{newSide(t, c.dev), t}, verbs.ErrInvalidState)
}
