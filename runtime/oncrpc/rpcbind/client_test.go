package rpcbind

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/leak"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/tcp"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Messages of RFC 1833, encoded by hand. The XID is 0x01020304.
const (
	// XID, CALL, RPC 2, program 100000, version 4
	callHead  = "01020304 00000000 00000002 000186a0 00000004 "
	noAuth    = "00000000 00000000 00000000 00000000 " // credential and verifier
	nfs4      = "000186a3 00000004 "                   // program 100003, version 4
	rdma      = "00000004 72646d61 "
	rdma6     = "00000005 72646d61 36000000 "
	where     = "0000000f 3139322e 302e322e 372e3738 2e383100 " // 192.0.2.7.78.81
	owner     = "00000004 726f6f74 "
	empty     = "00000000 "
	callHead3 = "01020304 00000000 00000002 000186a0 00000003 "
	callHead2 = "01020304 00000000 00000002 000186a0 00000002 "
	tcp4      = "00000003 74637000 "
	// XID, REPLY, accepted, no verifier, success
	replyHead = "01020304 00000001 00000000 00000000 00000000 00000000 "

	// Entries of the list, each after its presence word.
	nfs4TCP  = "00000001 " + nfs4 + "00000003 74637000 " + where + owner
	nfs4RDMA = "00000001 " + nfs4 + rdma + where + owner
	entries  = nfs4TCP + nfs4RDMA + empty
)

// framed frames a message as its last fragment.
func framed(b []byte) []byte {
	return append([]byte{0x80, 0, byte(len(b) >> 8), byte(len(b))}, b...)
}

// serve returns a client whose server answers each request with the next of answers, or not at all
// if that is nil. In requests and answers the first XID is 01020304. It also returns a function
// that returns the requests.
func serve(t testing.TB, answers ...[]byte) (*Client, func() [][]byte) {
	t.Helper()
	ours, theirs := net.Pipe()
	var got [][]byte
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer theirs.Close()
		for _, answer := range answers {
			var mark [4]byte
			if _, err := io.ReadFull(theirs, mark[:]); err != nil {
				return
			}
			b := make([]byte, int(mark[2])<<8|int(mark[3]))
			if _, err := io.ReadFull(theirs, b); err != nil || mark[0] != 0x80 || mark[1] != 0 {
				t.Errorf("record mark %x, %v", mark, err)
				return
			}
			xid := bytes.Clone(b[:4])
			copy(b, []byte{1, 2, 3, 4})
			got = append(got, b)
			if _, err := theirs.Write(bytes.Replace(answer, []byte{1, 2, 3, 4}, xid, 1)); err != nil {
				return
			}
		}
		_, _ = io.Copy(io.Discard, theirs) // until the client closes
	}()
	conn := tcp.NewConn(ours, &tcp.Config{MaxRecord: 256 << 10, MaxFragments: 1000, NoCancel: true})
	t.Cleanup(func() { conn.Close(); <-done })
	return NewClient(conn, nil), func() [][]byte { ours.Close(); <-done; return got }
}

// serveAt is serve by a server at an address.
func serveAt(t testing.TB, addr string, answers ...[]byte) (*Client, func() [][]byte) {
	t.Helper()
	c, sent := serve(t, answers...)
	return NewClient(from{c.conn, netip.MustParseAddrPort(addr)}, nil), sent
}

// success frames results.
func success(t testing.TB, results string) []byte { return framed(unhex(t, replyHead+results)) }

// mismatch frames PROG_MISMATCH with the versions that the server has.
func mismatch(t testing.TB, low, high uint32) []byte {
	return framed(unhex(t, fmt.Sprintf("01020304 00000001 00000000 00000000 00000000 00000002 %08x %08x", low, high)))
}

var at = netip.MustParseAddrPort("192.0.2.7:20049")

// R317: registration and lookup with both netids, compared byte by byte.
func TestRequestsHaveTheirBytes(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		call, answer string
		do           func(*Client) error
	}{
		"set": {callHead + "00000001 " + noAuth + nfs4 + rdma + where + owner, "00000001", func(c *Client) error {
			return c.Set(ctx, 100003, 4, oncrpc.NetIDRDMA, at, "root")
		}},
		"set on IPv6": {callHead + "00000001 " + noAuth + nfs4 + rdma6 + "00000011 32303031 3a646238 3a3a312e 37382e38 31000000 " + owner, "00000001", func(c *Client) error {
			return c.Set(ctx, 100003, 4, oncrpc.NetIDRDMA6, netip.MustParseAddrPort("[2001:db8::1]:20049"), "root")
		}},
		"set over TCP": {callHead + "00000001 " + noAuth + nfs4 + tcp4 + where + owner, "00000001", func(c *Client) error {
			return c.Set(ctx, 100003, 4, oncrpc.NetIDTCP, at, "root")
		}},
		"set over UDP and IPv6": {callHead + "00000001 " + noAuth + nfs4 + "00000004 75647036 " + "00000011 32303031 3a646238 3a3a312e 37382e38 31000000 " + owner, "00000001", func(c *Client) error {
			return c.Set(ctx, 100003, 4, oncrpc.NetIDUDP6, netip.MustParseAddrPort("[2001:db8::1]:20049"), "root")
		}},
		"unset from all": {callHead + "00000002 " + noAuth + nfs4 + empty + empty + empty, "00000001", func(c *Client) error {
			return c.Unset(ctx, 100003, 4, "", "")
		}},
		"time": {callHead + "00000006 " + noAuth, "ffffffff", func(c *Client) error {
			got, err := c.Time(ctx)
			if got.Unix() != 1<<32-1 {
				t.Errorf("got %v", got)
			}
			return err
		}},
		"unset": {callHead + "00000002 " + noAuth + nfs4 + rdma + empty + owner, "00000001", func(c *Client) error {
			return c.Unset(ctx, 100003, 4, oncrpc.NetIDRDMA, "root")
		}},
		"lookup": {callHead + "00000004 " + noAuth, entries, func(c *Client) error {
			got, err := c.Lookup(ctx, 100003, 4, oncrpc.NetIDRDMA)
			if got != at {
				t.Errorf("got %v", got)
			}
			return err
		}},
	} {
		client, sent := serve(t, framed(unhex(t, replyHead+c.answer)))
		if err := c.do(client); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := sent(); len(got) != 1 || !bytes.Equal(got[0], unhex(t, c.call)) {
			t.Errorf("%s: sent %x, want %x", name, got, unhex(t, c.call))
		}
	}
}

// from is a connection to a server at addr.
type from struct {
	oncrpc.Conn
	addr netip.AddrPort
}

func (c from) RemoteAddr() string { return c.addr.String() }

// A service on all addresses of a host is at the address where its rpcbind answers, if that has the
// same address family. Otherwise its address is not known: 0.0.0.0 would be this host.
func TestServiceOnAllAddresses(t *testing.T) {
	const (
		anyAddr  = "0000000d 302e302e 302e302e 37382e38 31000000 " // 0.0.0.0.78.81
		anyAddr6 = "00000008 3a3a2e37 382e3831 "                   // ::.78.81
	)
	for _, tt := range []struct{ netID, addr, server, want string }{
		{rdma, anyAddr, "192.0.2.9:111", "192.0.2.9:20049"},
		{rdma, anyAddr, "[::ffff:192.0.2.9]:111", "192.0.2.9:20049"},
		{rdma, anyAddr, "[2001:db8::9]:111", ""},
		{rdma6, anyAddr6, "[2001:db8::9]:111", "[2001:db8::9]:20049"},
		{rdma6, anyAddr6, "192.0.2.9:111", ""},
	} {
		client, _ := serveAt(t, tt.server, success(t, "00000001 "+nfs4+tt.netID+tt.addr+owner+empty))
		netID := oncrpc.NetIDRDMA
		if tt.netID == rdma6 {
			netID = oncrpc.NetIDRDMA6
		}
		got, err := client.Lookup(context.Background(), 100003, 4, netID)
		if tt.want == "" {
			if !errors.Is(err, ErrAddress) || got.IsValid() {
				t.Errorf("%s from %s: %v, %v", netID, tt.server, got, err)
			}
		} else if err != nil || got != netip.MustParseAddrPort(tt.want) {
			t.Errorf("%s from %s: %v, %v; want %s", netID, tt.server, got, err, tt.want)
		}
	}
}

// R317: an invalid answer is an error, which names the rule.
func TestAnswersAreNotTrusted(t *testing.T) {
	good := unhex(t, replyHead+entries)
	entry := func(netid, addr string) string { return "00000001 " + nfs4 + netid + addr + owner + empty }
	type answer struct {
		b    []byte
		want string // part of the error
	}
	more := framed(good)
	more[0] = 0 // further fragments follow
	nothing := append(make([]byte, 4*1000), 0x80, 0, 0, 0)
	list := map[string]answer{
		"no service":            {framed(unhex(t, replyHead+empty)), ErrNotRegistered.Error()},
		"another netid":         {framed(unhex(t, replyHead+nfs4TCP+empty)), ErrNotRegistered.Error()},
		"another program":       {framed(unhex(t, replyHead+"00000001 000186a4 00000004 "+rdma+where+owner+empty)), ErrNotRegistered.Error()},
		"another version":       {framed(unhex(t, replyHead+"00000001 000186a3 00000003 "+rdma+where+owner+empty)), ErrNotRegistered.Error()},
		"another network":       {framed(unhex(t, replyHead+entry(rdma, "00000011 32303031 3a646238 3a3a312e 37382e38 31000000"))), "IPv4"},
		"port 0":                {framed(unhex(t, replyHead+entry(rdma, "0000000d 3139322e 302e322e 372e302e 30000000"))), "port 0"},
		"no address":            {framed(unhex(t, replyHead+entry(rdma, "00000003 61620a00"))), "RFC 5665"},
		"bytes behind":          {framed(append(bytes.Clone(good), 0, 0, 0, 0)), "4"},
		"pad that is not zero":  {framed(unhex(t, replyHead+entry(rdma, where[:len(where)-3]+"01 "))), "pad"},
		"a string beyond limit": {framed(unhex(t, replyHead+entry(rdma, "00000100"+strings.Repeat("61", 256)))), "255"},
		"a length of 4 GiB":     {framed(unhex(t, replyHead+"00000001 "+nfs4+"ffffffff 61616161")), "255"},
		"more of 2":             {framed(unhex(t, replyHead+"00000002 "+nfs4+rdma+where+owner+empty)), "2"},
		"refused":               {framed(unhex(t, "01020304 00000001 00000001 00000001 00000001")), "credential"},
		"no such program":       {framed(unhex(t, "01020304 00000001 00000000 00000000 00000000 00000001")), "unavailable"},
		"versions 9 to 12":      {framed(unhex(t, "01020304 00000001 00000000 00000000 00000000 00000002 00000009 0000000c")), "9 to 12"},
		"a record of 2 GiB":     {[]byte{0xff, 0xff, 0xff, 0xff}, "262144"},
		"too many fragments":    {append(more, nothing...), "1000 fragments"},
		"fragments of nothing":  {nothing, "message"},
		"an empty record":       {[]byte{0x80, 0, 0, 0}, ""},
	}
	for n := range good {
		list[fmt.Sprint("cut at ", n)] = answer{framed(good[:n]), ""}
	}
	// If an answer is awaited in vain, the test fails with the name of the case.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for name, a := range list {
		client, _ := serve(t, a.b)
		got, err := client.Lookup(ctx, 100003, 4, oncrpc.NetIDRDMA)
		if err == nil || got.IsValid() && got.Port() != 0 || !strings.Contains(err.Error(), a.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if client, _ := serve(t, framed(unhex(t, replyHead+"00000000"))); !errors.Is(client.Set(context.Background(), 100003, 4, oncrpc.NetIDRDMA, at, "root"), ErrRefused) {
		t.Error("a SET that was not done went well")
	}
	if client, _ := serve(t, framed(unhex(t, replyHead+"00000002"))); client.Set(context.Background(), 100003, 4, oncrpc.NetIDRDMA, at, "root") == nil {
		t.Error("a bool of 2 is true")
	}
}

// If the server does not answer the request, but another one, the client waits no longer than the
// context allows. The connection can be used again.
func TestSilentServer(t *testing.T) {
	client, _ := serve(t, framed(unhex(t, "01020399"+replyHead[8:]+entries)), framed(unhex(t, replyHead+entries)))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := client.Lookup(ctx, 100003, 4, oncrpc.NetIDRDMA); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if got, err := client.Lookup(context.Background(), 100003, 4, oncrpc.NetIDRDMA); err != nil || got != at {
		t.Error(got, err)
	}
}

// Addresses that cannot be registered are not sent.
func TestSetRefuses(t *testing.T) {
	client, sent := serve(t)
	for _, a := range []netip.AddrPort{{}, netip.MustParseAddrPort("192.0.2.7:0")} {
		if err := client.Set(context.Background(), 1, 1, oncrpc.NetIDRDMA, a, ""); !errors.Is(err, ErrAddress) {
			t.Errorf("%v: %v", a, err)
		}
	}
	if err := client.Set(context.Background(), 1, 1, oncrpc.NetIDRDMA, at, strings.Repeat("x", 256)); err == nil {
		t.Errorf("an owner of 256 bytes: %v", err)
	}
	if got := sent(); len(got) != 0 {
		t.Errorf("sent %x", got)
	}
}
