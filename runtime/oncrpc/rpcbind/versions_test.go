package rpcbind

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// RFC 5531 §9: after PROG_MISMATCH the client goes on with the highest version that both have, and
// stays with it. It gives up if there is none, and after version 2 whatever the server says.
func TestClientGoesToTheHighestCommonVersion(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	const found = "00000001 " + nfs4 + "00000004 72646d61 " + where + owner + empty
	for _, tt := range []struct {
		name    string
		answers [][]byte
		want    []byte // versions of the requests of two lookups
		err     error
	}{
		{"version 4", [][]byte{success(t, found), success(t, found)}, []byte{4, 4}, nil},
		{"version 3", [][]byte{mismatch(t, 2, 3), success(t, found), success(t, found)}, []byte{4, 3, 3}, nil},
		{"version 2", [][]byte{mismatch(t, 2, 2)}, []byte{4}, ErrVersion},
		{"version 3, later 2", [][]byte{mismatch(t, 3, 3), mismatch(t, 2, 2)}, []byte{4, 3}, ErrVersion},
		{"a range with the version refused", [][]byte{mismatch(t, 2, 4), mismatch(t, 2, 4)}, []byte{4, 3}, ErrVersion},
		{"all versions", [][]byte{mismatch(t, 0, 1<<32-1), mismatch(t, 0, 1<<32-1)}, []byte{4, 3}, ErrVersion},
		{"version 1", [][]byte{mismatch(t, 1, 1), mismatch(t, 1, 1)}, []byte{4, 4}, oncrpc.ErrProgMismatch},
		{"version 9", [][]byte{mismatch(t, 9, 12), mismatch(t, 9, 12)}, []byte{4, 4}, oncrpc.ErrProgMismatch},
		{"a range that is empty", [][]byte{mismatch(t, 3, 2), mismatch(t, 3, 2)}, []byte{4, 4}, oncrpc.ErrProgMismatch},
	} {
		client, sent := serve(t, tt.answers...)
		for range 2 {
			// Version 2 has no netid "rdma", so there is no request with it.
			if got, err := client.Lookup(ctx, 100003, 4, oncrpc.NetIDRDMA); !errors.Is(err, tt.err) || err == nil && got != at {
				t.Errorf("%s: %v, %v", tt.name, got, err)
			}
		}
		var vers []byte
		for _, b := range sent() {
			vers = append(vers, b[19])
		}
		if !bytes.Equal(vers, tt.want) {
			t.Errorf("%s: asked in versions %v, want %v", tt.name, vers, tt.want)
		}
	}
}

// An answer in several fragments is joined (RFC 5531 §11).
func TestFragmentsAreJoined(t *testing.T) {
	good := unhex(t, replyHead+entries)
	client, _ := serve(t, append(append([]byte{0, 0, 0, 5}, good[:5]...), framed(good[5:])...))
	if got, err := client.Lookup(context.Background(), 100003, 4, oncrpc.NetIDRDMA); err != nil || got != at {
		t.Errorf("%v, %v", got, err)
	}
}

// RFC 1833 §3: version 2, byte by byte. The last request is compared; the first got PROG_MISMATCH.
func TestVersion2HasItsBytes(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		call, answer string
		do           func(*Client) error
	}{
		"set": {"00000001 " + noAuth + nfs4 + "00000006 00004e51", "00000001", func(c *Client) error {
			return c.Set(ctx, 100003, 4, oncrpc.NetIDTCP, at, "root")
		}},
		"set over UDP": {"00000001 " + noAuth + nfs4 + "00000011 00004e51", "00000001", func(c *Client) error {
			return c.Set(ctx, 100003, 4, oncrpc.NetIDUDP, at, "root")
		}},
		"unset": {"00000002 " + noAuth + nfs4 + "00000000 00000000", "00000001", func(c *Client) error {
			return c.Unset(ctx, 100003, 4, oncrpc.NetIDTCP, "root")
		}},
		"lookup": {"00000003 " + noAuth + nfs4 + "00000006 00000000", "00004e51", func(c *Client) error {
			got, err := c.Lookup(ctx, 100003, 4, oncrpc.NetIDTCP)
			if got != at {
				t.Errorf("got %v", got)
			}
			return err
		}},
		"lookup of UDP": {"00000003 " + noAuth + nfs4 + "00000011 00000000", "00000001", func(c *Client) error {
			got, err := c.Lookup(ctx, 100003, 4, oncrpc.NetIDUDP)
			if got != netip.AddrPortFrom(at.Addr(), 1) {
				t.Errorf("got %v", got)
			}
			return err
		}},
		"dump": {"00000004 " + noAuth, "00000001 " + nfs4 + "00000006 00004e51 00000001 " + nfs4 + "00000084 0001ffff 00000000", func(c *Client) error {
			got, err := c.Dump(ctx)
			const want = `[rpcb{r_prog: 100003, r_vers: 4, r_netid: "tcp", r_addr: "0.0.0.0.78.81", r_owner: ""} ` +
				`rpcb{r_prog: 100003, r_vers: 4, r_netid: "132", r_addr: "0.0.0.0.511.255", r_owner: ""}]`
			if fmt.Sprint([]Mapping(got)) != want {
				t.Errorf("got %v, want %s", []Mapping(got), want)
			}
			return err
		}},
	} {
		client, sent := serveAt(t, "192.0.2.7:111", mismatch(t, 2, 2), success(t, c.answer))
		if err := c.do(client); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := sent(); len(got) != 2 || !bytes.Equal(got[1], unhex(t, callHead2+c.call)) {
			t.Errorf("%s: sent %x, want %x", name, got, unhex(t, callHead2+c.call))
		}
	}
}

// Version 2 can do nothing for other networks, and its answers are not trusted either.
func TestVersion2Refuses(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		answer, server string
		want           error
		text           string
		do             func(*Client) error
	}{
		"set":     {"", "192.0.2.7:111", ErrVersion, `no netid "rdma"`, func(c *Client) error { return c.Set(ctx, 1, 1, oncrpc.NetIDRDMA, at, "") }},
		"unset":   {"", "192.0.2.7:111", ErrVersion, `no netid "udp6"`, func(c *Client) error { return c.Unset(ctx, 1, 1, oncrpc.NetIDUDP6, "") }},
		"time":    {"", "192.0.2.7:111", ErrVersion, "version 2 of rpcbind has no GETTIME", func(c *Client) error { _, err := c.Time(ctx); return err }},
		"tcp6":    {"", "192.0.2.7:111", ErrVersion, `no netid "tcp6"`, func(c *Client) error { _, err := c.Lookup(ctx, 1, 1, oncrpc.NetIDTCP6); return err }},
		"port 0":  {"00000000", "192.0.2.7:111", ErrNotRegistered, "version 2 of rpcbind", func(c *Client) error { _, err := c.Lookup(ctx, 1, 1, oncrpc.NetIDTCP); return err }},
		"65536":   {"00010000", "192.0.2.7:111", ErrAddress, "0.0.0.0.256.0", func(c *Client) error { _, err := c.Lookup(ctx, 1, 1, oncrpc.NetIDTCP); return err }},
		"IPv6":    {"00000001", "[2001:db8::1]:111", ErrAddress, "connect to rpcbind over that family", func(c *Client) error { _, err := c.Lookup(ctx, 1, 1, oncrpc.NetIDTCP); return err }},
		"refused": {"00000000", "192.0.2.7:111", ErrRefused, "version 2 of rpcbind", func(c *Client) error { return c.Set(ctx, 1, 1, oncrpc.NetIDTCP, at, "") }},
	} {
		answers := [][]byte{mismatch(t, 2, 2)}
		if c.answer != "" {
			answers = append(answers, success(t, c.answer))
		}
		client, sent := serveAt(t, c.server, answers...)
		if err := c.do(client); !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: %v", name, err)
		}
		if got := sent(); len(got) != len(answers) {
			t.Errorf("%s: %d requests, want %d", name, len(got), len(answers))
		}
	}
}

// RFC 1833 §2.2: over TCP, the address of a service over TCP is asked for by GETVERSADDR in version
// 4 and GETADDR in version 3, with the server's address as the client knows it.
func TestGetAddr(t *testing.T) {
	const (
		asked  = nfs4 + tcp4 + "0000000f 3139322e 302e322e 392e302e 31313100 " + empty // 192.0.2.9.0.111
		asked6 = nfs4 + "00000004 74637036 " + "00000011 32303031 3a646238 3a3a392e 302e3131 31000000 " + empty
	)
	for _, tt := range []struct {
		netID, server string
		answers       []string // after PROG_MISMATCH if there are two
		call          string
	}{
		{"tcp", "192.0.2.9:111", []string{where}, callHead + "00000009 " + noAuth + asked},
		{"tcp", "[::ffff:192.0.2.9]:111", []string{where}, callHead + "00000009 " + noAuth + asked},
		{"tcp6", "[2001:db8::9]:111", []string{where}, callHead + "00000009 " + noAuth + asked6},
		{"tcp", "192.0.2.9:111", []string{"", where}, callHead3 + "00000003 " + noAuth + asked},
		{"tcp6", "[2001:db8::9]:111", []string{"", where}, callHead3 + "00000003 " + noAuth + asked6},
	} {
		want, answers := at, [][]byte{}
		for _, a := range tt.answers {
			if tt.netID == "tcp6" && a != "" {
				a, want = "00000011 32303031 3a646238 3a3a312e 37382e38 31000000 ", netip.MustParseAddrPort("[2001:db8::1]:20049")
			}
			answers = append(answers, success(t, a))
		}
		if len(answers) == 2 {
			answers[0] = mismatch(t, 3, 3)
		}
		client, sent := serveAt(t, tt.server, answers...)
		if got, err := client.Lookup(context.Background(), 100003, 4, tt.netID); err != nil || got != want {
			t.Errorf("%s at %s: %v, %v", tt.netID, tt.server, got, err)
		}
		if got := sent(); !bytes.Equal(got[len(got)-1], unhex(t, tt.call)) {
			t.Errorf("%s at %s: sent %x, want %x", tt.netID, tt.server, got[len(got)-1], unhex(t, tt.call))
		}
	}
}
