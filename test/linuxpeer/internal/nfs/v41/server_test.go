package v41

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs/nfs41"
)

// exchangeID is the argument of a COMPOUND with EXCHANGE_ID, by hand from RFC 5661 §16.2 and
// §18.35: what a client says of itself, and that no state needs protection.
const exchangeID = `
	00000000                            tag
	00000001 00000001                   minor version, number of operations
	0000002a                            EXCHANGE_ID
	0102030405060708                    verifier of this start of the client
	00000011 4c696e7578204e465376342e 31206775 65 000000
	00000101                            SUPP_MOVED_REFER, BIND_PRINC_STATEID
	00000000                            SP4_NONE
	00000001                            an implementation
	0000000a 6b65726e 656c2e6f 72670000
	00000005 4c696e75 78000000
	0000000000000000 00000000`

// linuxExchangeID is the same from Linux 6.1, out of a capture of its packets.
const linuxExchangeID = `
	00000000 00000001 00000001 0000002a
	18ea8ddb95f29926 00000013 4c696e7578204e465376342e3120677565737400
	00000101 00000000 00000001
	0000000a 6b65726e656c2e6f72670000
	00000050
	4c696e757820362e312e302d35362d616d64363420233120534d502050524545
	4d50545f44594e414d49432044656269616e20362e312e3139322d3220283230
	32362d31312d313629207838365f3634
	0000000000000000 00000000`

// unhex returns the bytes of lines that end in a remark after two blanks.
func unhex(t testing.TB, lines string) []byte {
	t.Helper()
	var b []byte
	for line := range strings.Lines(lines) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "  ")
		part, err := hex.DecodeString(strings.ReplaceAll(line, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, part...)
	}
	return b
}

// raw is an argument that was encoded by hand.
type raw []byte

func (r raw) EncodeXDR(e *xdr.Encoder) error {
	for i := 0; i+4 <= len(r); i += 4 {
		w := oncrpc.Uint32(uint32(r[i])<<24 | uint32(r[i+1])<<16 | uint32(r[i+2])<<8 | uint32(r[i+3]))
		if err := w.EncodeXDR(e); err != nil {
			return err
		}
	}
	return nil
}
func (r raw) DecodeXDR(*xdr.Decoder) error { return errors.ErrUnsupported }
func (r raw) XDRSize() int                 { return len(r) }

// A COMPOUND with EXCHANGE_ID is answered, any other is refused by the status of its first
// operation. NULL is answered.
func TestCompound(t *testing.T) {
	ctx, s, n := context.Background(), new(Server), mem.New(nil)
	serverDev, err := n.Open("server", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer serverDev.Close()
	dev, err := n.Open("client", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	server, err := rdmaio.Listen(ctx, serverDev, "v41", s.Handler(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	conn, err := rdmaio.Dial(ctx, dev, "v41", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := rpc.NewClient(conn, oncrpc.Program{Number: nfs41.Program, Version: nfs41.Version}, nil)
	if err := c.Call(ctx, nfs41.ProcNull, nil, nil, nil); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		name, args string
		want       nfs41.Status
		ops        int // in the result
	}{
		{"EXCHANGE_ID", exchangeID, nfs41.StatusOK, 1},
		{"of Linux", linuxExchangeID, nfs41.StatusOK, 1},
		{"with a tag", "00000002 68690000" + strings.TrimPrefix(strings.TrimSpace(exchangeID), "00000000"), nfs41.StatusOK, 1},
		{"version 4.0", "00000000 00000000 00000001 00000023 00000000", nfs41.StatusMinorVersMismatch, 0},
		{"version 4.2", "00000000 00000002 00000001 0000002a", nfs41.StatusMinorVersMismatch, 0},
		{"another operation", "00000000 00000001 00000002 00000035 0102030405060708 00000018", nfs41.StatusNotsupp, 1},
		{"EXCHANGE_ID and more", strings.Replace(exchangeID, "00000001 00000001 ", "00000001 00000002 ", 1), nfs41.StatusNotsupp, 1},
		{"no operation", "00000000 00000001 00000000", nfs41.StatusOK, 0},
		{"SP4_MACH_CRED", "00000000 00000001 00000001 0000002a 0102030405060708 00000000 00000000 00000001 00000000 00000000 00000000", nfs41.StatusNotsupp, 1},
	} {
		var res nfs41.CompoundRes
		if err := c.Call(ctx, nfs41.ProcCompound, raw(unhex(t, tt.args)), &res, nil); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if res.Status != tt.want || len(res.Results) != tt.ops {
			t.Errorf("%s: found %+v, expected %v and %d operations", tt.name, res, tt.want, tt.ops)
		}
		for _, op := range res.Results {
			if ok := op.ExchangeID.OK; tt.want == nfs41.StatusOK && (ok == nil || ok.Flags != nfs41.FlagUseNonPNFS || ok.ClientID == 0) {
				t.Errorf("%s: found %+v", tt.name, op)
			}
		}
	}
	if n := s.Exchanges(); n != 3 {
		t.Errorf("%d calls counted, expected 3", n)
	}
	err = c.Call(ctx, nfs41.ProcCompound, raw(unhex(t, "00000000 00000001 00000001 0000002a 01020304")), nil, nil)
	if !errors.Is(err, oncrpc.ErrGarbageArgs) {
		t.Errorf("a short EXCHANGE_ID: %v", err)
	}
}

// Every part of an argument is refused, and never panics.
func TestCompoundTruncated(t *testing.T) {
	whole := unhex(t, exchangeID)
	for n := range whole {
		var c compound
		d := xdr.NewDecoder(whole[:n], nil)
		if err := c.DecodeXDR(d); err == nil {
			t.Errorf("%d of %d bytes decode", n, len(whole))
		}
	}
	var c compound
	if err := c.DecodeXDR(xdr.NewDecoder(whole, nil)); err != nil || c.XDRSize() != len(whole) {
		t.Errorf("%v, size %d of %d", err, c.XDRSize(), len(whole))
	}
	e := xdr.NewEncoder(nil)
	if err := c.EncodeXDR(e); err != nil || !bytes.Equal(e.Bytes(), whole) {
		t.Errorf("%v: encodes to %x", err, e.Bytes())
	}
}

func FuzzCompound(f *testing.F) {
	f.Add(unhex(f, exchangeID))
	f.Add(unhex(f, linuxExchangeID))
	f.Add(unhex(f, "00000000 00000001 00000002 00000035 01020304"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var c compound
		d := xdr.NewDecoder(b, nil)
		if c.DecodeXDR(d) == nil && (len(d.Rest()) > 0) != (c.isExchangeID() && c.XDRSize() < len(b)) {
			t.Errorf("%d bytes left of %d, size %d", len(d.Rest()), len(b), c.XDRSize())
		}
	})
}
