package udp

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"syscall"
	"testing"
)

// control returns control data of one kind with these bytes.
func control(level, kind int, data []byte) []byte {
	b := make([]byte, syscall.CmsgSpace(len(data)))
	binary.NativeEndian.PutUint64(b, uint64(syscall.CmsgLen(len(data))))
	binary.NativeEndian.PutUint32(b[8:], uint32(level))
	binary.NativeEndian.PutUint32(b[12:], uint32(kind))
	copy(b[syscall.CmsgLen(0):], data)
	return b
}

// A datagram's control data has the address that it came to. The reply's control data names no
// interface. Datagrams to many hosts, and those without an address, are not answered.
func TestLocalOf(t *testing.T) {
	if syscall.CmsgLen(0) != 16 {
		t.Skip("the header of control data has another size")
	}
	four := func(own, dest string) []byte {
		b := append([]byte{1, 2, 3, 4}, netip.MustParseAddr(own).AsSlice()...)
		return control(syscall.IPPROTO_IP, syscall.IP_PKTINFO, append(b, netip.MustParseAddr(dest).AsSlice()...))
	}
	six := func(dest string) []byte {
		a := netip.MustParseAddr(dest).As16()
		return control(syscall.IPPROTO_IPV6, syscall.IPV6_PKTINFO, append(a[:], 1, 2, 3, 4))
	}
	for _, tt := range []struct {
		control []byte
		want    string // empty: not answered
	}{
		{four("192.0.2.1", "192.0.2.1"), "192.0.2.1:111"}, {four("192.0.2.1", "192.0.2.255"), ""}, {four("192.0.2.1", "224.0.0.1"), ""},
		{six("2001:db8::1"), "[2001:db8::1]:111"}, {six("ff02::202"), ""}, {six("::ffff:192.0.2.1"), "192.0.2.1:111"}, {nil, ""},
		{append(six("ff02::202"), four("192.0.2.1", "192.0.2.1")...), ""}, {[]byte{1, 2, 3}, ""},
	} {
		in := bytes.Clone(tt.control)
		local, reply, ok := localOf(in, 111)
		if ok != (tt.want != "") || ok && local.String() != tt.want {
			t.Errorf("%x: %v, %v, want %q", tt.control, local, ok, tt.want)
		}
		if !bytes.Equal(in, tt.control) {
			t.Errorf("%x became %x: the reader uses it again", tt.control, in)
		}
		if want := bytes.Replace(tt.control, []byte{1, 2, 3, 4}, make([]byte, 4), 1); ok && !bytes.Equal(reply, want) {
			t.Errorf("the reply has %x, want %x", reply, want)
		}
	}
}
