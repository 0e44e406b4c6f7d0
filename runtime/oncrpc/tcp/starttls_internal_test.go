package tcp

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	memory "github.com/rpcrdma/rpcrdma/internal/growth"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
)

// offerReply is a reply that offers TLS, without a mark.
func offerReply(xid uint32) []byte {
	m := oncrpc.NewReply(xid, oncrpc.Success)
	m.Body.Reply.Accepted.Verf.Body = []byte(starttls)
	b, err := m.AppendBinary(nil)
	if err != nil {
		panic(err)
	}
	return b
}

// A truncated reply does not offer TLS, and does not allow a client to continue without TLS, either
// (RFC 9289 §4.1).
func TestOfferTruncated(t *testing.T) {
	whole := offerReply(5)
	for n := range whole {
		if refusal, err := offer(whole[:n], 5); refusal != nil || err == nil {
			t.Errorf("%d of %d bytes: refusal %v, error %v", n, len(whole), refusal, err)
		}
	}
	if refusal, err := offer(whole, 5); refusal != nil || err != nil {
		t.Errorf("refusal %v, error %v", refusal, err)
	}
}

// A client refuses a reply to its probe of more than probeReply bytes.
func TestProbeReplyIsLimited(t *testing.T) {
	for _, tt := range []struct {
		size int
		want error
	}{{probeReply, nil}, {probeReply + 4, ErrRecord}} {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			probe := make([]byte, markSize+probeSize)
			if _, err := io.ReadFull(theirs, probe); err != nil {
				return
			}
			reply := offerReply(binary.BigEndian.Uint32(probe[markSize:]))
			reply = append(appendMark(nil, tt.size), append(reply, make([]byte, tt.size-len(reply))...)...)
			_, _ = theirs.Write(reply)
		}()
		probing := &tlsSettings{TLS: TLS{Program: 100000, Version: 2}}
		if refusal, err := probing.probe(ours); refusal != nil || !errors.Is(err, tt.want) {
			t.Errorf("%d bytes: refusal %v, error %v, want %v", tt.size, refusal, err, tt.want)
		}
		_ = ours.Close()
	}
}

// A client whose server refuses TLS closes the connection if it requires TLS, and keeps it if not.
func TestRefusedTLSClosesTheConnection(t *testing.T) {
	for mode, closes := range map[TLSMode]bool{TLSWanted: false, TLSRequired: true} {
		ours, theirs := net.Pipe()
		refused := make(chan error, 1)
		go func() {
			probe := make([]byte, markSize+probeSize)
			_, err := io.ReadFull(theirs, probe)
			refusal, _ := oncrpc.NewAuthError(binary.BigEndian.Uint32(probe[markSize:]), oncrpc.AuthStatRejectedCred).AppendBinary(nil)
			_, err2 := theirs.Write(append(appendMark(nil, len(refusal)), refusal...))
			refused <- errors.Join(err, err2)
		}()
		set := (&Config{TLS: TLS{Mode: mode}}).settle()
		if err := set.settleTLS(false); err != nil {
			t.Fatal(err)
		}
		stream, err := set.tls.startTLS(t.Context(), ours, "192.0.2.1:1", &set)
		if errors.Is(err, ErrNoTLS) != closes || (stream == ours) == closes {
			t.Errorf("%v: %v", mode, err)
		}
		if err := <-refused; err != nil {
			t.Error(err)
		}
		_ = theirs.SetReadDeadline(time.Now())
		if _, err := theirs.Read(make([]byte, 1)); (err == io.EOF) != closes {
			t.Errorf("%v: closed: %v, want %v", mode, err == io.EOF, closes)
		}
		_ = ours.Close()
		_ = theirs.Close()
	}
}

// A client checks a server's certificate with the caller's VerifyConnection, too.
func TestCallersVerificationCounts(t *testing.T) {
	refused := errors.New("refused")
	c := &tls.Config{VerifyConnection: func(tls.ConnectionState) error { return refused }}
	adjustClient(c)
	if err := c.VerifyConnection(tls.ConnectionState{}); err != refused {
		t.Errorf("%v, want %v", err, refused)
	}
	c = &tls.Config{}
	adjustClient(c)
	if err := c.VerifyConnection(tls.ConnectionState{}); err != nil {
		t.Error(err)
	}
}

// FuzzOffer reads arbitrary replies to a probe. Only the bytes that RFC 9289 §4.1 describes offer
// TLS, and a reply takes little more memory than it has bytes.
func FuzzOffer(f *testing.F) {
	f.Add(offerReply(5), uint32(5))
	refused, _ := oncrpc.NewAuthError(5, oncrpc.AuthStatRejectedCred).AppendBinary(nil)
	f.Add(refused, uint32(5))
	mismatch, _ := oncrpc.NewProgMismatch(5, 2, 4).AppendBinary(nil)
	f.Add(mismatch, uint32(5))
	f.Fuzz(func(t *testing.T, b []byte, xid uint32) {
		b = b[:min(len(b), probeReply)]
		var refusal, err error
		if err := memory.Within(64<<10+8*uint64(len(b)), func() { refusal, err = offer(b, xid) }); err != nil {
			t.Error(err)
		}
		offers := len(b) >= 28 && bytes.HasPrefix(b, offerReply(xid)[:24])
		if (refusal == nil && err == nil) && !offers || refusal != nil && err != nil {
			t.Errorf("%x: refusal %v, error %v", b, refusal, err)
		}
	})
}

// FuzzScreen screens arbitrary Calls. AUTH_TLS never gets to the handler, only a Call exactly as in
// RFC 9289 §4.1 counts as the probe, and nothing else passes where TLS is required and missing.
func FuzzScreen(f *testing.F) {
	probe, _ := oncrpc.NewCall(1, 100003, 4, 0, oncrpc.OpaqueAuth{Flavor: oncrpc.AuthTLS}).AppendBinary(nil)
	f.Add(probe, uint8(7))
	f.Add(append(probe[:40:40], 0, 0, 0, 0), uint8(1))
	null, _ := oncrpc.NewCall(1, 100003, 4, 0, oncrpc.None()).AppendBinary(nil)
	f.Add(null, uint8(5))
	f.Fuzz(func(t *testing.T, call []byte, flags uint8) {
		_, typ, ok := oncrpc.Peek(call)
		if !ok || typ != oncrpc.MsgCall {
			t.Skip()
		}
		c := &Conn{accepted: flags&1 != 0, set: new(settings), shared: alone(), security: security{secured: flags&8 != 0}}
		c.join()
		if flags&2 != 0 {
			c.set.tls = &tlsSettings{TLS: TLS{Mode: TLSWanted}}
		}
		if flags&4 != 0 {
			c.set.tls = &tlsSettings{TLS: TLS{Mode: TLSRequired}}
		}
		refusal, begins := c.screen(call)
		if refusal != nil {
			if begins {
				t.Fatal("refused and taken")
			}
			if b, err := refusal.Header(1).AppendBinary(nil); err != nil || len(b) < 20 {
				t.Fatalf("%v has no reply: %x, %v", refusal, b, err)
			}
		}
		tls := len(call) >= 28 && binary.BigEndian.Uint32(call[8:]) == 2 && binary.BigEndian.Uint32(call[24:]) == 7
		switch {
		case begins && (!c.accepted || c.set.tls == nil || c.secured || !bytes.Equal(call[20:], probe[20:]) || !tls):
			t.Errorf("%x begins TLS", call)
		case refusal == nil && !begins && (tls || c.plainOnly()):
			t.Errorf("%x gets to the handler", call)
		}
	})
}

// Screening costs nothing for Calls that pass.
func TestScreenAllocs(t *testing.T) {
	call, _ := oncrpc.NewCall(1, 100003, 4, 0, oncrpc.None()).AppendBinary(nil)
	c := &Conn{accepted: true, set: new(settings), shared: alone()}
	c.join()
	if n := testing.AllocsPerRun(100, func() { c.screen(call) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
