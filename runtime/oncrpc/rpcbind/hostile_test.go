package rpcbind

import (
	"context"
	"encoding/hex"
	"errors"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// canned is a connection over TCP to a server at an address that answers every call with the same
// results.
type canned struct {
	oncrpc.Conn
	addr    string
	results []byte
}

func (c canned) XID() uint32        { return 1 }
func (c canned) RemoteAddr() string { return c.addr }
func (c canned) Call(_ context.Context, call *oncrpc.Call) (*oncrpc.Reply, error) {
	head := oncrpc.NewReply(1, oncrpc.Success)
	message, err := head.AppendBinary(nil)
	call.Reply = oncrpc.Reply{Message: append(message, c.results...)}
	return &call.Reply, err
}

// newest is a client of a version of a server that answers with these results.
func newest(vers uint32, addr string, results []byte) *Client {
	c := NewClient(canned{addr: addr, results: results}, nil)
	c.version.Store(vers)
	return c
}

// str is a string of XDR, in hex.
func str(s string) string {
	padded := s + strings.Repeat("\x00", -len(s)&3)
	return hex.EncodeToString([]byte{byte(len(s) >> 24), byte(len(s) >> 16), byte(len(s) >> 8), byte(len(s))}) + hex.EncodeToString([]byte(padded))
}

// R317: an address is taken in the exact form of its network only, and if it can be reached from
// here.
func TestAddressesAreNotTrusted(t *testing.T) {
	for _, tt := range []struct {
		netID, addr string
		want        error
		text        string
	}{
		{"tcp", "", ErrNotRegistered, "version 4 of rpcbind"},
		{"tcp", "192.0.2.7.0.0", ErrAddress, "port 0"},
		{"tcp", "192.0.2.7.78", ErrAddress, "RFC 5665"},
		{"tcp", "192.0.2.7.78.81\x00", ErrAddress, `\x00`},
		{"tcp", "192.0.2.7\x00.78.81", ErrAddress, `\x00`},
		{"tcp", "2001:db8::1.78.81", ErrAddress, "IPv4"},
		{"tcp", "server.78.81", ErrAddress, "IP address"},
		{"tcp", "fe80::1%eth0.78.81", ErrAddress, "zone"},
		{"tcp", "127.0.0.1.78.81", ErrAddress, "loopback"},
		{"rdma", "127.0.0.1.78.81", ErrAddress, "loopback"},
		{"rdma6", "::1.78.81", ErrAddress, "loopback"},
		{"rdma6", "::ffff:127.0.0.1.78.81", ErrAddress, "loopback"},
		{"rdma6", "::.78.81", ErrAddress, "family"},
		{"tcp", strings.Repeat("1", 256), nil, "255"},
		{"tcp", strings.Repeat("1", 1<<20), nil, "255"},
		{"rdma", strings.Repeat("1", 1<<19), nil, "255"},
	} {
		results := str(tt.addr)
		if tt.netID != "tcp" {
			results = "00000001 " + nfs4 + str(tt.netID) + results + empty + empty
		}
		got, err := newest(Version4, "192.0.2.9:111", unhex(t, results)).Lookup(context.Background(), 100003, 4, tt.netID)
		if err == nil || got.IsValid() || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || len(err.Error()) > 600 {
			t.Errorf("%s %.40q: %v, %v", tt.netID, tt.addr, got, err)
		}
	}
	// On the same host, its loopback address can be reached.
	got, err := newest(Version4, "127.0.0.1:111", unhex(t, str("127.0.0.1.78.81"))).Lookup(context.Background(), 100003, 4, "tcp")
	if err != nil || got != netip.MustParseAddrPort("127.0.0.1:20049") {
		t.Errorf("%v, %v", got, err)
	}
}

// Netids that have no IP address are listed as they are.
func TestLocalNetidsAreListed(t *testing.T) {
	all, err := newest(Version4, "192.0.2.9:111", unhex(t, "00000001 "+nfs4+str("local")+str("/run/rpcbind.sock")+owner+empty)).Dump(context.Background())
	if err != nil || len(all) != 1 || string(all[0].NetID) != "local" || string(all[0].Addr) != "/run/rpcbind.sock" {
		t.Fatalf("%v, %v", all, err)
	}
	if at, err := all[0].AddrPort(); !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), `netid "local"`) {
		t.Errorf("%v, %v", at, err)
	}
}

// Each answer that ends early is an error, and so is each with bytes behind it.
func TestTruncatedAnswerIsAnError(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		vers    uint32
		results string
		do      func(*Client) error
	}{
		"dump":            {Version4, entries, func(c *Client) error { _, err := c.Dump(ctx); return err }},
		"dump, version 2": {Version2, "00000001 " + nfs4 + "00000006 00004e51 00000000", func(c *Client) error { _, err := c.Dump(ctx); return err }},
		"lookup":          {Version4, entries, func(c *Client) error { _, err := c.Lookup(ctx, 100003, 4, "rdma"); return err }},
		"address":         {Version3, where, func(c *Client) error { _, err := c.Lookup(ctx, 100003, 4, "tcp"); return err }},
		"port":            {Version2, "00004e51", func(c *Client) error { _, err := c.Lookup(ctx, 100003, 4, "tcp"); return err }},
		"time":            {Version4, "00004e51", func(c *Client) error { _, err := c.Time(ctx); return err }},
		"set":             {Version3, "00000001", func(c *Client) error { return c.Set(ctx, 100003, 4, "rdma", at, "") }},
		"unset":           {Version2, "00000001", func(c *Client) error { return c.Unset(ctx, 100003, 4, "tcp", "") }},
	} {
		good := unhex(t, c.results)
		if err := c.do(newest(c.vers, "192.0.2.9:111", good)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for n := range good {
			if c.do(newest(c.vers, "192.0.2.9:111", good[:n])) == nil {
				t.Errorf("%s, cut at %d: no error", name, n)
			}
		}
		if c.do(newest(c.vers, "192.0.2.9:111", append(good, 0, 0, 0, 0))) == nil {
			t.Errorf("%s and 4 bytes: no error", name)
		}
	}
}

// A table costs a client at most 1 MiB of strings, and 12 bytes for each byte of a list. A longer
// one is refused before it is decoded, whatever the connection accepts.
func TestTableMemory(t *testing.T) {
	entry := unhex(t, "00000001 "+nfs4+empty+empty+empty)
	list := func(size int) []byte {
		b := make([]byte, 0, size)
		for len(b)+len(entry)+4 <= size {
			b = append(b, entry...)
		}
		return append(b, 0, 0, 0, 0)
	}
	spent := func(results []byte) (int, uint64, error) {
		c := newest(Version4, "192.0.2.9:111", results)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all, err := c.Dump(context.Background())
		runtime.ReadMemStats(&after)
		return len(all), after.TotalAlloc - before.TotalAlloc, err
	}
	n, bytes, err := spent(list(maxTable))
	if err != nil || n != maxTable/len(entry) || bytes > 32*maxTable {
		t.Errorf("%d entries, %d bytes allocated, %v", n, bytes, err)
	}
	longer := list(16 << 20)
	n, bytes, err = spent(longer)
	if !errors.Is(err, ErrTooLong) || n != 0 || bytes > uint64(2*len(longer)) {
		t.Errorf("%d entries, %d bytes allocated, %v", n, bytes, err)
	}
	// The end of the list never comes.
	if n, _, err = spent(list(maxTable / 2)[:maxTable/4]); err == nil || n != 0 {
		t.Errorf("%d entries, %v", n, err)
	}
}

// A reply whose last fragment does not come holds a call until its context ends, and no longer.
func TestReplyWithoutEnd(t *testing.T) {
	good := unhex(t, replyHead+entries)
	notLast := append([]byte{0, 0, 0, byte(len(good))}, good...)
	client, _ := serve(t, notLast)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := client.Dump(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// Whatever a server answers: no panic, and an address that is found is one to connect to.
//
//fuzz:floor 300 each execution makes 24 calls
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{entries, where, "00004e51", "00000001 " + nfs4 + "00000006 00004e51 00000000", str("127.0.0.1.78.81"), str("::.78.81")} {
		for vers := byte(2); vers <= 4; vers++ {
			f.Add(vers, unhex(f, s))
		}
	}
	f.Fuzz(func(t *testing.T, vers byte, results []byte) {
		ctx := context.Background()
		for _, addr := range []string{"192.0.2.9:111", "[2001:db8::9]:111", "pipe"} {
			c := newest(Version2+uint32(vers)%3, addr, results)
			for _, netID := range []string{"tcp", "tcp6", "udp", "udp6", "rdma", "rdma6", "local"} {
				got, err := c.Lookup(ctx, 100003, 4, netID)
				if (err == nil) != got.IsValid() {
					t.Fatalf("%s: %v, %v", netID, got, err)
				}
				if err == nil && (got.Port() == 0 || got.Addr().IsUnspecified() || got.Addr().Is4() == strings.HasSuffix(netID, "6") || addr != "pipe" && got.Addr().IsLoopback()) {
					t.Fatalf("%s: %v", netID, got)
				}
			}
			if all, err := c.Dump(ctx); err == nil {
				for i := range all {
					if at, err := all[i].AddrPort(); err == nil && (!at.IsValid() || at.Port() == 0) {
						t.Fatalf("%v: %v", all[i], at)
					}
				}
			}
		}
	})
}
