package setup

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/peertest"
	"github.com/rpcrdma/rpcrdma/internal/rdmaiotest"
	"github.com/rpcrdma/rpcrdma/internal/rpctest"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
)

// inline gives a Config with thresholds.
func inline(send, recv int) *rdmaio.Config { return &rdmaio.Config{InlineSend: send, InlineRecv: recv} }

// thresholdsHold is an oracle over a history: no message is larger than negotiated, and Receives of
// a size are posted before the size is advertised (R37, R38).
func thresholdsHold(list []trace.Event, clientToServer, serverToClient, clientRecv, serverRecv int) error {
	most := map[string]int{"client": clientToServer, "server": serverToClient}
	room := map[string]int{"client": clientRecv, "server": serverRecv}
	posted := make(map[string]int)
	for _, e := range list {
		switch {
		case rdmaiotest.IsSend(&e) && e.Length > most[e.Device]:
			return fmt.Errorf("event %d: %s sends %d bytes, at most %d were agreed on", e.Seq, e.Device, e.Length, most[e.Device])
		case e.Kind == trace.PostRecv && e.Length != room[e.Device]:
			return fmt.Errorf("event %d: %s posts a Receive of %d bytes, it advertised %d", e.Seq, e.Device, e.Length, room[e.Device])
		case e.Kind == trace.PostRecv:
			posted[e.Device]++
		case e.Kind == trace.Dial || e.Kind == trace.Accept:
			if posted[e.Device] != 32 {
				return fmt.Errorf("event %d: %s advertises its size with %d Receives posted", e.Seq, e.Device, posted[e.Device])
			}
		}
	}
	return nil
}

// RFC 8797 §4.2, R37, R38: the thresholds of each direction, for all sizes that the two sides want,
// and messages of every size around them.
func TestThresholdsHoldInEachDirection(t *testing.T) {
	for _, c := range []struct {
		name           string
		client, server *rdmaio.Config
		call, reply    int // thresholds
	}{
		{"both 4096", inline(4096, 4096), inline(4096, 4096), 4096, 4096},
		{"an old server", inline(4096, 4096), inline(1024, 1024), 1024, 1024},
		{"an old client", inline(1024, 1024), inline(4096, 4096), 1024, 1024},
		{"each way another", inline(2048, 8192), inline(3072, 16384), 2048, 3072},
		{"receivers decide", inline(65536, 1024), inline(65536, 5120), 5120, 1024},
		{"not a multiple of 1024: rounded down", inline(4095, 2049), inline(4096, 4096), 3072, 2048},
	} {
		t.Run(c.name, func(t *testing.T) {
			rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
				f := &rpctest.File{T: t}
				s := w.Serve(f, c.server)
				conn := w.Dial(c.client)
				for xid, n := uint32(1), c.call-200; n <= c.call+8; n += 4 {
					data := rdmaiotest.Pattern(n, uint64(n))
					if _, err := conn.Call(context.Background(), rpctest.WriteCall(xid, 0, data)); err != nil || !bytes.Equal(f.Data, data) {
						t.Fatalf("WRITE of %d bytes: %v", n, err)
					}
					xid++
				}
				for xid, n := uint32(1000), c.reply-200; n <= c.reply+8; n += 4 {
					f.Data = rdmaiotest.Pattern(n, uint64(n))
					call := rpctest.ReadCall(xid, 0, make([]byte, n))
					call.Results, call.ReplyBuf = nil, make([]byte, n+44)
					reply, err := conn.Call(context.Background(), call)
					if err != nil {
						t.Fatalf("READ of %d bytes: %v", n, err)
					}
					if got, err := rpctest.ReadReply(reply); err != nil || !bytes.Equal(got, f.Data) {
						t.Fatalf("READ of %d bytes: %v", n, err)
					}
					xid++
				}
				if st := conn.Stats(); st.InlineSend != c.call || st.InlineRecv != c.reply {
					t.Errorf("client: %d out, %d in, want %d and %d", st.InlineSend, st.InlineRecv, c.call, c.reply)
				}
				for _, sc := range s.Conns() {
					if st := sc.Stats(); st.InlineSend != c.reply || st.InlineRecv != c.call {
						t.Errorf("server: %d out, %d in, want %d and %d", st.InlineSend, st.InlineRecv, c.reply, c.call)
					}
				}
				list := w.History.Events()
				if err := thresholdsHold(list, c.call, c.reply, c.client.InlineRecv&^1023, c.server.InlineRecv&^1023); err != nil {
					t.Error(err)
				}
				for _, side := range []struct {
					dev  string
					size int
				}{{"client", c.call}, {"server", c.reply}} {
					if n := rdmaiotest.Count(list, func(e *trace.Event) bool {
						return e.Device == side.dev && rdmaiotest.IsSend(e) && e.Length > side.size-4
					}); n == 0 {
						t.Errorf("%s never used its %d bytes", side.dev, side.size)
					}
				}
			})
		})
	}
}

// The oracle's canary.
func TestOracleSeesAMessageOverTheThreshold(t *testing.T) {
	for name, list := range map[string][]trace.Event{
		"too large a message":             {{Device: "client", Kind: trace.PostSend, Opcode: verbs.Send, Length: 1025}},
		"too small a Receive":             {{Device: "server", Kind: trace.PostRecv, Length: 1024}},
		"advertised, but not posted":      {{Device: "server", Kind: trace.Accept}},
		"the Reply too, which ends a key": {{Device: "server", Kind: trace.PostSend, Opcode: verbs.SendWithInvalidate, Length: 2049}},
	} {
		if thresholdsHold(list, 1024, 2048, 4096, 4096) == nil {
			t.Errorf("%s was not seen", name)
		}
	}
}

// What a nil Config gives: the inline size of the device each way, and no invalidation by the peer.
func TestNilConfigTakesTheDevicesSizes(t *testing.T) {
	c := rdmaiotest.Plain(t, rpctest.Quick(nil), nil)
	if st := c.Stats(); st.InlineSend != 5120 || st.InlineRecv != 5120 || st.RemoteInvalidate {
		t.Errorf("%+v", st)
	}
	call := rpctest.NullCall(1, 5120-28)
	if _, err := c.Call(context.Background(), call); err != nil {
		t.Fatal(err)
	}
	if st := c.Stats(); st.Registrations != 0 {
		t.Errorf("a message of 5120 bytes took %d registrations", st.Registrations)
	}
}

// 4 KiB less its header, both ways, with one Send each and without registration; with 1024 bytes it
// would need a chunk (R35).
func TestLargeMessagesGoInline(t *testing.T) { rdmaiotest.Steady(t, largeInline) }

func largeInline(t *testing.T, w *rdmaiotest.World) {
	f := &rpctest.File{T: t}
	cfg := inline(4096, 4096)
	cfg.NonBlocking = true // the same order of events in each run
	w.Serve(f, cfg)
	c := w.Dial(cfg)
	mark := w.Mark()
	data := rdmaiotest.Pattern(3900, 1)
	if _, err := c.Call(context.Background(), rpctest.WriteCall(0x21, 0, data)); err != nil || !bytes.Equal(f.Data, data) {
		t.Fatalf("WRITE: %v", err)
	}
	list := w.Since(mark)
	rdmaiotest.OneSendEach(t, w, mark)
	rdmaiotest.KeysEnded(t, list, 0)
	w.Golden(t, "testdata/write-inline.golden", list)
}

// poor is a device that can do less than it could.
type poor struct {
	verbs.Device
	private    int
	invalidate bool
}

func (d poor) Attributes() verbs.DeviceAttributes {
	a := d.Device.Attributes()
	a.MaxPrivateData, a.RemoteInvalidate = d.private, d.invalidate
	return a
}

// RFC 8797 §3.2, §4: what a device cannot do is not promised; and where nothing can
// be said the defaults hold both ways, for what the peer does not know it cannot allow.
func TestPoorDevicePromisesNothing(t *testing.T) {
	for _, c := range []struct {
		name           string
		client, server poor
		inline         int
		inv            bool
	}{
		{"all they can", poor{nil, 8, true}, poor{nil, 8, true}, 4096, true},
		{"the client cannot say anything", poor{nil, 7, true}, poor{nil, 64, true}, 1024, false},
		{"nor can the server", poor{nil, 0, true}, poor{nil, 0, true}, 1024, false},
		{"the server cannot invalidate", poor{nil, 8, true}, poor{nil, 8, false}, 4096, false},
		{"keys of the client cannot be ended", poor{nil, 8, false}, poor{nil, 8, true}, 4096, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := rdmaiotest.New(t)
			c.client.Device, c.server.Device = w.Client, w.Server
			w.Client, w.Server = c.client, c.server
			f := &rpctest.File{T: t}
			s := w.Serve(f, inline(4096, 4096))
			conn := w.Dial(inline(4096, 4096))
			rpctest.Writes(t, conn, f)
			rpctest.Reads(t, conn, f)
			for _, sc := range append(s.Conns(), conn) {
				rdmaiotest.AwaitStats(t, sc, func(st *rdmaio.Stats) bool {
					return st.InlineSend == c.inline && st.InlineRecv == c.inline && st.RemoteInvalidate == c.inv && (st.RemoteInvalidations == 2) == c.inv
				})
			}
		})
	}
}

// T125, R331, A30, B22: the terms that a server takes from private data, and its own, at offset 0.
// A peer that sends none, and does not configure the connection, is served with 1024 bytes (R298).
func TestServerTakesTermsFromPrivateData(t *testing.T) {
	rdmaiotest.Each(t, func(t *testing.T, w *rdmaiotest.World) {
		s := w.Serve(&rpctest.File{T: t}, inline(8192, 4096))
		most := w.Client.Attributes().MaxPrivateData
		for _, c := range []struct {
			name, private string
			send, recv    int
			inv           bool
		}{
			{"none", "", 1024, 1024, false},
			{"a Linux client", "f6ab0e180101 0303", 4096, 4096, true},
			{"behind other things, at an odd offset", "0080000000 f6ab0e180101 0001", 2048, 1024, true},
			{"version 2", "f6ab0e180201 0303", 1024, 1024, false},
			{"cut off", "f6ab0e180101 03", 1024, 1024, false},
			{"at offset 1", "f6 f6ab0e180101 0303", 4096, 4096, true},
			{"at offset 7", "f6ab0e1802f6ab f6ab0e180101 0303", 4096, 4096, true},
			{"at the end", strings.Repeat("ee", most-8) + "f6ab0e180101 0001", 2048, 1024, true},
			{"cut off at the end", strings.Repeat("ee", most-4) + "f6ab0e18", 1024, 1024, false},
			{"random bytes", hex.EncodeToString(rdmaiotest.Pattern(most, 1)), 1024, 1024, false},
			{"other random bytes", hex.EncodeToString(rdmaiotest.Pattern(most-1, 2)), 1024, 1024, false},
		} {
			p := peertest.New(t, w.Client)
			info, err := w.Client.Dial(context.Background(), w.Addr, p.QP, &verbs.ConnParams{PrivateData: peertest.Bytes(t, c.private)})
			if err != nil {
				t.Fatal(c.name, err)
			}
			if got := hex.EncodeToString(info.PrivateData); got != "f6ab0e1801010703" {
				t.Errorf("%s: the server says %s", c.name, got)
			}
			found := false
			// The connection is listed soon after Accept.
			for end := time.Now().Add(2 * time.Second); !found && time.Now().Before(end); {
				for _, sc := range s.Conns() {
					st := sc.Stats()
					found = found || st.InlineSend == c.send && st.InlineRecv == c.recv && st.RemoteInvalidate == c.inv
				}
			}
			if !found {
				t.Errorf("%s: no connection with %d out, %d in, invalidate %v", c.name, c.send, c.recv, c.inv)
			}
			// It accepts messages of the advertised size, whatever the peer sends: at once, and as
			// the first message.
			big := peertest.Bytes(t, peertest.Msg(""))
			p.Send(append(big, make([]byte, 4096-len(big))...))
			if got := p.Message(peertest.Patience); len(got) == 0 {
				t.Errorf("%s: a message of 4096 bytes was not answered", c.name)
			}
			if err := p.QP.Disconnect(); err != nil {
				t.Error(err)
			}
			<-p.Lost
			for len(s.Conns()) > 0 {
				time.Sleep(time.Millisecond)
			}
		}
	})
}
