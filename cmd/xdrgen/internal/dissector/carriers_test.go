package dissector_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/internal/pcapng"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/internal/witness"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// streams is a provider that makes connections over any stream.
type streams interface {
	verbs.Device
	DialConn(context.Context, net.Conn, verbs.QueuePair, *verbs.ConnParams) (*verbs.ConnInfo, error)
}

// recording is a device that records its connections as a client. The provider writes to the file
// until it has closed the stream, which may be later than the end of Close.
type recording struct {
	streams
	now atomic.Int64
	mu  sync.Mutex
	b   bytes.Buffer
}

func (r *recording) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(b)
}

// Dial implements verbs.Device.
func (r *recording) Dial(ctx context.Context, addr string, qp verbs.QueuePair, params *verbs.ConnParams) (*verbs.ConnInfo, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	now := func() time.Time { return time.Unix(1000, 0).Add(time.Duration(r.now.Add(1)) * time.Millisecond) }
	return r.DialConn(ctx, pcapng.Record(conn, pcapng.Recording{File: pcapng.NewFile(r, 0), Name: "client", Initiator: true, Now: now}), qp, params)
}

// data says which part of a message is placed directly, and perhaps a later one.
type data struct {
	at, size int
	then     *data
}

// split returns a message, with the data as items.
func (d data) split(b []byte) rdmaio.Message {
	if d.size == 0 {
		return rdmaio.Message{Inline: b}
	}
	var m rdmaio.Message
	from := 0
	for next := &d; next != nil; next = next.then {
		m.Inline = append(m.Inline, b[from:next.at]...)
		m.Items = append(m.Items, xdr.Item{Position: uint64(next.at), Inline: len(m.Inline), Data: b[next.at : next.at+next.size]})
		from = next.at + xdr.Padded(next.size)
	}
	m.Inline = append(m.Inline, b[from:]...)
	return m
}

// sends has the Sends of a device, by the first five words of their messages.
type sends map[string][][]byte

// wrap returns a device whose Sends are kept.
func (s sends) wrap(dev verbs.Device) verbs.Device {
	return trace.New(trace.Config{Head: 4096, Sink: func(e trace.Event) {
		posted := e.Kind == trace.PostSend && (e.Opcode == verbs.Send || e.Opcode == verbs.SendWithInvalidate)
		received := e.Kind == trace.Complete && e.WCOpcode == verbs.WCRecv && e.Status == verbs.StatusSuccess
		if (posted || received) && len(e.Head) >= 20 {
			k := string(e.Head[:20])
			s[k] = append(s[k], []byte(e.Head))
		}
	}}).Device(dev)
}

// compare compares the headers that Wireshark shows with the Sends. It returns how many headers and
// values it has compared.
func (s sends) compare(t *testing.T, parts []tshark.Part) (headers, values int) {
	t.Helper()
	h := compileHeaders(t, new(maker))
	for _, p := range parts {
		if p.Proto != "rpcrdma2" {
			continue
		}
		var start []byte
		for _, f := range []string{"rpcrdma_common.rdma_xid", "rpcrdma_common.rdma_vers", "rpcrdma_common.rdma_credit", "rpcrdma_common.rdma_htype", "rpcrdma2_hdr_prefix.rdma_flags"} {
			start = append(start, words(uint32(p.Number(t, "rpcrdma2."+f)))...)
		}
		k := string(start)
		if len(s[k]) == 0 {
			t.Errorf("packet %d: no Send begins with % x", p.Packet, start)
			continue
		}
		headers++
		values += h.compareHeaders(t, s[k][0], p)
		s[k] = s[k][1:]
	}
	return headers, values
}

// overRDMA makes the Calls on a connection and returns a capture. placed and results are the
// data of Calls and Replies, by XID, that RDMA moves. The Sends go to the last parameter.
func overRDMA(t *testing.T, dev streams, version int, all []exchange, placed, results map[uint32]data, kept sends) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	replies := map[uint32][]byte{}
	for _, e := range all {
		replies[binary.BigEndian.Uint32(e.reply)] = e.reply
	}
	handler := rdmaio.HandlerFunc(func(r *rdmaio.Request) {
		xid := binary.BigEndian.Uint32(r.Message)
		r.Reply(results[xid].split(replies[xid]), nil)
	})
	cfg := &rdmaio.Config{Versions: []int{version}, InlineSend: 4200, InlineRecv: 4200, RemoteInvalidate: 1}
	server, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", handler, cfg)
	if err != nil {
		t.Fatal(err)
	}
	rec := &recording{streams: dev}
	c, err := rdmaio.Dial(ctx, kept.wrap(rec), server.Addr(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		xid := binary.BigEndian.Uint32(e.call)
		call := &rdmaio.Call{Message: placed[xid].split(e.call)}
		if n := results[xid].size; n > 0 {
			call.Results = [][]byte{make([]byte, n)}
		}
		if _, err := c.Call(ctx, call); err != nil {
			t.Fatalf("%s: %v", e.what, err)
		}
	}
	if err := errors.Join(c.Close(), server.Close(), dev.Close()); err != nil {
		t.Error(err)
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return write(t, rec.b.Bytes())
}

// notes makes a PUT and a GET of a text, whose data RDMA moves.
func (c *compiled) notes(t *testing.T, xid uint32, size int) (put, get exchange) {
	t.Helper()
	m := &maker{Rand: rand.New(rand.NewPCG(7, uint64(size)))}
	note := append(append(words(3), "big\x00"...), words(uint32(size))...)
	note = m.text(note, size)
	put, get = c.exchange(t, m, c.procs[1], xid), c.exchange(t, m, c.procs[2], xid+1)
	put.call = append(put.call[:40:40], note...)
	get.reply = append(append(get.reply[:24:24], words(0)...), note...)
	c.expect(t, &put, c.procs[1])
	c.expect(t, &get, c.procs[2])
	return put, get
}

// array makes a Call and a Reply whose arrays of pairs, at the bytes 48 and 32, have elements. RDMA
// moves them.
func (c *compiled) array(t *testing.T, xid uint32) exchange {
	t.Helper()
	m := &maker{Rand: rand.New(rand.NewPCG(9, 9))}
	for {
		if e := c.exchange(t, m, c.procs[1], xid); binary.BigEndian.Uint32(e.call[44:]) > 1 && binary.BigEndian.Uint32(e.reply[28:]) > 0 {
			return e
		}
	}
}

// children is the number of elements in an array of 8 bytes each, which is too long for Sends.
const children = 9000

// several makes a Call with an array at byte 52, and a string 4 bytes after it, which RDMA reads.
func (c *compiled) several(t *testing.T, xid uint32) exchange {
	t.Helper()
	p := c.procs[2]
	e := exchange{what: "several", unit: c.name, reply: words(xid, 1, 0, 0, 0, 0, 0)}
	e.call = append(words(xid, 0, 2, p.Program.Program.Number, p.Version.Number, p.Proc.Number, 0, 0, 0, 0, 7, 5, children), bytes.Repeat(words(6, 0), children)...)
	e.call = append(append(e.call, words(3)...), "abc\x00"...)
	c.expect(t, &e, p)
	return e
}

// TestShowsMessagesInRDMA checks that Wireshark shows the fields of dump for messages in RDMATCP
// and iWARP, with the data that RDMA has placed.
func TestShowsMessagesInRDMA(t *testing.T) {
	witness.Program(t, "tshark")
	for name, open := range map[string]func() (streams, error){
		"rdmatcp": func() (streams, error) { return rdmatcp.Open(nil) },
		"iwarp":   func() (streams, error) { return iwarp.Open(nil) },
	} {
		for version := 1; version <= 2; version++ {
			t.Run(fmt.Sprintf("%s version %d", name, version), func(t *testing.T) {
				dev, err := open()
				if err != nil {
					t.Fatal(err)
				}
				all, scripts := exchanges(t, &maker{Rand: rand.New(rand.NewPCG(3, 4))}, 10)
				c := compile(t, "notes", units["notes"]...)
				placed, results := map[uint32]data{}, map[uint32]data{}
				for i, size := range []int{2001, 3501, 70001} {
					xid := uint32(0x2000 + 2*i)
					put, get := c.notes(t, xid, size)
					results[xid+1] = data{at: 40, size: size}
					placed[xid] = data{at: 52, size: size}
					if size < 4000 || version == 2 {
						all = append(all, put)
					}
					all = append(all, get) // with a long text in several segments
				}
				shapes := compile(t, "shapes", units["shapes"]...)
				if version == 2 { // Wireshark itself joins the chunks of version 1
					all, placed[0x3001] = append(all, shapes.several(t, 0x3001)), data{52, 8 * children, &data{at: 56 + 8*children, size: 3}}
				}
				rows := shapes.array(t, 0x3000)
				all, placed[0x3000] = append(all, rows), data{at: 48, size: 8 * int(binary.BigEndian.Uint32(rows.call[44:]))}
				results[0x3000] = data{at: 32, size: 8 * int(binary.BigEndian.Uint32(rows.reply[28:]))}
				kept := sends{}
				in := tshark.Input{
					File: overRDMA(t, dev, version, all, placed, results, kept), Args: []string{"-Y", "frame"},
					Scripts: append([]string{root + "tools/wireshark/rpcrdma2.lua", root + "tools/wireshark/rdmatcp.lua"}, scripts...),
				}
				parts := tshark.Parts(t, in)
				messages, values := check(t, parts, all)
				t.Logf("%d messages, %d values", messages, values)
				if messages < 140 || values < 1000 {
					t.Errorf("%d messages and %d values are few", messages, values)
				}
				if version == 2 {
					headers, values := kept.compare(t, parts)
					t.Logf("%d headers, %d values", headers, values)
					if headers < len(all)*2 {
						t.Errorf("%d headers for %d Calls and Replies", headers, len(all))
					}
				}
			})
		}
	}
}
