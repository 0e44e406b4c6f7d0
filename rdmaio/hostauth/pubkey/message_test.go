package pubkey

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/hostauth"
)

// TestMessagesHaveTheirFormat reads the messages of an exchange by the offsets of the package
// comment.
func TestMessagesHaveTheirFormat(t *testing.T) {
	p := newPair()
	p.client.Rand = bytes.NewReader(bytes.Repeat([]byte{0xcc}, 32))
	p.server.Rand = bytes.NewReader(bytes.Repeat([]byte{0x55}, 32))
	r := p.run(t, nil)
	r.authentic(t, "client", "server")

	length := func(n int) string { return string(binary.BigEndian.AppendUint64(nil, uint64(n))) }
	hash := func(parts ...string) string {
		text := ""
		for _, part := range parts {
			text += length(len(part)) + part
		}
		d := sha256.Sum256([]byte(text))
		return string(d[:])
	}
	nonceC, nonceS := strings.Repeat("\xcc", 32), strings.Repeat("\x55", 32)
	helloC := "HA\x01\x01" + nonceC + "\x01\x01" + "\x00\x00\x00\x20" + string(public(edKey(1)))
	helloS := "HA\x01\x02" + nonceS + "\x01\x01" + "\x00\x00\x00\x20" + string(public(edKey(2)))
	digests := hash("hellos", helloC, helloS) +
		hash("properties", nonceC, nonceS, "client properties", "server properties") +
		hash("channel binding", nonceC, nonceS, "tls-exporter", "binding")
	proof := func(key ed25519.PrivateKey, role string) string {
		text := strings.Repeat(" ", 64) + "RPC-over-RDMA host authentication 1, " + role + "\x00" + digests
		return digests + "\x00\x00\x00\x40" + string(ed25519.Sign(key, []byte(text)))
	}
	for i, want := range []string{helloC, helloS + proof(edKey(2), "server"), "HA\x01\x03" + proof(edKey(1), "client")} {
		if got := string(r.messages[i]); got != want {
			t.Errorf("message %d\n got %x\nwant %x", i+1, got, want)
		}
		if got, want := len(r.messages[i]), []int{74, 238, 168}[i]; got != want {
			t.Errorf("message %d has %d bytes, the package comment says %d", i+1, got, want)
		}
	}
}

// samples returns messages of each type, with bare keys and with certificates of two bytes.
func samples() [][]byte {
	h := hello{identity: identity{bareKey, [][]byte{bytes.Repeat([]byte{7}, 32)}}}
	certs := hello{identity: identity{chain, [][]byte{{1, 2}, {3, 4}, {5, 6}}}}
	p := proof{signature: bytes.Repeat([]byte{9}, 64)}
	return [][]byte{
		appendHello(nil, clientHello, &h),
		appendHello(nil, clientHello, &certs),
		appendProof(appendHello(nil, serverHello, &h), &p),
		appendProof(appendHello(nil, serverHello, &certs), &p),
		appendProof(appendHeader(nil, clientProof), &p),
	}
}

// decode decodes a message of any type, and encodes the result.
func decode(msg []byte) (again []byte, err error) {
	t, err := typeOf(msg)
	if err != nil {
		return nil, err
	}
	switch t {
	case clientHello:
		h, err := decodeClientHello(msg)
		if err != nil {
			return nil, err
		}
		return appendHello(nil, t, &h), nil
	case serverHello:
		h, part, p, err := decodeServerHello(msg)
		if err != nil {
			return nil, err
		}
		if !bytes.HasPrefix(msg, part) || !bytes.Equal(part, appendHello(nil, t, &h)) {
			return nil, errors.New("the part before the proof is not the hello")
		}
		return appendProof(slices.Clone(part), &p), nil
	}
	p, err := decodeClientProof(msg)
	if err != nil {
		return nil, err
	}
	return appendProof(appendHeader(nil, t), &p), nil
}

// TestTruncatedMessageIsRefused decodes every prefix of every message, and every message with a
// byte more.
func TestTruncatedMessageIsRefused(t *testing.T) {
	for i, msg := range samples() {
		if again, err := decode(msg); err != nil || !bytes.Equal(again, msg) {
			t.Errorf("sample %d: %v, encoded again %x, want %x", i, err, again, msg)
		}
		for n := range msg {
			if _, err := decode(msg[:n:n]); !errors.Is(err, hostauth.ErrMalformed) {
				t.Errorf("sample %d, the first %d bytes: %v, want %v", i, n, err, hostauth.ErrMalformed)
			}
		}
		if _, err := decode(append(slices.Clone(msg), 0)); !errors.Is(err, hostauth.ErrMalformed) || !strings.Contains(err.Error(), "1 bytes follow") {
			t.Errorf("sample %d with a byte more: %v", i, err)
		}
	}
}

// TestRefusedFields puts a wrong value into one field (T106: material of 1 GiB).
func TestRefusedFields(t *testing.T) {
	const gib = "\x40\x00\x00\x00"
	s := samples()
	tests := []struct {
		name string
		msg  []byte
		off  int
		put  string
		text string
	}{
		{"key of 1 GiB", s[0], 38, gib, "client hello, byte 38: the length of the Ed25519 key is 1073741824, expected 32 to 32"},
		{"key of 4 GiB", s[0], 38, "\xff\xff\xff\xff", "is 4294967295"},
		{"key of 31 bytes", s[0], 38, "\x00\x00\x00\x1f", "is 31, expected 32"},
		{"two keys", s[0], 37, "\x02", "the number of keys is 2"},
		{"kind 0", s[0], 36, "\x00", "client hello, byte 36: the kind of identity is 0, expected 1 to 2"},
		{"kind 3", s[0], 36, "\x03", "the kind of identity is 3"},
		{"no certificate", s[1], 37, "\x00", "the number of certificates is 0, expected 1 to 8"},
		{"9 certificates", s[1], 37, "\x09", "the number of certificates is 9"},
		{"4 certificates of 3", s[1], 37, "\x04", "0 bytes left"},
		{"2 certificates of 3", s[1], 37, "\x02", "6 bytes follow"},
		{"certificate of 1 GiB", s[1], 38, gib, "is 1073741824, expected 1 to 32768"},
		{"second certificate of 1 GiB", s[1], 44, gib, "is 1073741824, expected 1 to 32766"},
		{"empty certificate", s[1], 38, "\x00\x00\x00\x00", "is 0, expected 1"},
		{"key of 1 GiB, server", s[2], 38, gib, "server hello, byte 38: the length of the Ed25519 key is 1073741824"},
		{"certificate of 1 GiB, server", s[3], 38, gib, "is 1073741824"},
		{"signature of 1 GiB, server", s[2], 170, gib, "server hello, byte 170: the length of the signature is 1073741824, expected 1 to 1024"},
		{"signature of 1 GiB, client", s[4], 100, gib, "client proof, byte 100: the length of the signature is 1073741824"},
		{"signature of 1025 bytes", s[4], 100, "\x00\x00\x04\x01", "is 1025, expected 1 to 1024"},
		{"empty signature", s[4], 100, "\x00\x00\x00\x00", "is 0, expected 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			msg := slices.Clone(tt.msg)
			copy(msg[tt.off:], tt.put)
			_, err := decode(msg)
			checkError(t, err, hostauth.ErrMalformed, tt.text)
		})
	}
	t.Run("certificates of 32 KiB together", func(t *testing.T) {
		big := make([]byte, maxChain/2)
		msg := appendHello(nil, clientHello, &hello{identity: identity{chain, [][]byte{big, big}}})
		if _, err := decode(msg); err != nil {
			t.Error(err)
		}
		msg = appendHello(nil, clientHello, &hello{identity: identity{chain, [][]byte{big, big, {1}}}})
		_, err := decode(msg)
		checkError(t, err, hostauth.ErrMalformed, "at most 32 KiB for all")
	})
}

// allocated returns the bytes that a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestDecoderAllocatesLittle: a decoder allocates little, whatever lengths a message announces, and
// an exchange a small multiple of the message.
func TestDecoderAllocatesLittle(t *testing.T) {
	const gib = "\x40\x00\x00\x00"
	for i, msg := range samples() {
		for off := headerSize; off+4 <= len(msg); off++ {
			bad := slices.Clone(msg)
			copy(bad[off:], gib)
			if n := allocated(func() { _, _ = decode(bad) }); n > 8<<10 {
				t.Fatalf("sample %d with 1 GiB at byte %d: %d bytes allocated, want at most 8 KiB", i, off, n)
			}
		}
	}
	root := newIssuer(t, nil, "root")
	p := newPair()
	p.server.Roots = root.pool()
	junk := hello{identity: identity{kind: chain}}
	for range maxCerts {
		junk.identity.items = append(junk.identity.items, bytes.Repeat([]byte{0x30}, maxChain/maxCerts))
	}
	msg := appendHello(nil, clientHello, &junk)
	s, err := end(t, &p.server, p.serverInfo)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	if n := allocated(func() { _, err = s.Receive(msg) }); err != nil || n > uint64(2*len(msg)+16<<10) {
		t.Errorf("a hello of %d bytes: %v, %d bytes allocated, want at most twice the message and 16 KiB", len(msg), err, n)
	}
}

func FuzzDecode(f *testing.F) {
	for _, msg := range samples() {
		f.Add(msg)
	}
	f.Fuzz(func(t *testing.T, msg []byte) {
		again, err := decode(msg)
		var e *hostauth.Error
		switch {
		case err != nil && !errors.As(err, &e):
			t.Errorf("an error of type %T: %v", err, err)
		case err == nil && !bytes.Equal(again, msg):
			t.Errorf("decoded %x, encoded again %x", msg, again)
		}
	})
}

// FuzzReceive gives two messages to a server, and one to a client. Neither may accept the peer.
func FuzzReceive(f *testing.F) {
	root := newIssuer(f, nil, "root")
	p := newPair()
	p.client.Roots, p.server.Roots = root.pool(), root.pool()
	m := p.run(f, nil).messages
	f.Add(m[0], m[2])
	f.Add(m[0], m[1])
	p.client.Chain = [][]byte{issue(f, root, p.client.Key, dns("client"))}
	p.server.Chain = [][]byte{issue(f, root, p.server.Key, dns("server"))}
	m = p.run(f, nil).messages
	f.Add(m[0], m[2])
	f.Add(m[0], m[1])
	f.Fuzz(func(t *testing.T, first, second []byte) {
		s, err := end(t, &p.server, p.serverInfo)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Begin(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Receive(first); err == nil {
			if _, err = s.Receive(second); err == nil {
				t.Error("the server accepted a client that has no key")
			}
		}
		c, err := end(t, &p.client, p.clientInfo)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Begin(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Receive(second); err == nil {
			t.Error("the client accepted a server that has no key")
		}
	})
}
