package verbs

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/crc"
	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
)

// floorListener returns the address of a floor server that ends with the test.
func floorListener(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go ServeFloor(ln)
	return ln.Addr().String()
}

// DialFloor checks that data arrives unchanged, once by each way that it can go.
func TestFloor(t *testing.T) {
	addr := floorListener(t)
	for _, c := range []struct {
		op    string
		shape Shape
	}{
		{Call, Shape{128, 1}},
		{Call, Shape{128, 256}},
		{Write, Shape{4 << 10, 32}},
		{Write, Shape{64 << 10, 16}},
		{Write, Shape{1 << 20, 1}},
		{Write, Shape{1<<20 + 4, 3}},
		{Read, Shape{4 << 10, 32}}, // inline
		{Read, Shape{5064, 2}},     // as long a reply as fits
		{Read, Shape{5068, 2}},
		{Read, Shape{4093, 2}}, // roundup
		{Read, Shape{64 << 10, 16}},
		{Read, Shape{1 << 20, 1}},
		{Read, Shape{1<<20 + 1, 3}}, // padding
	} {
		f, err := DialFloor(addr, c.op, c.shape)
		if err != nil {
			t.Fatalf("%s %v: %v", c.op, c.shape, err)
		}
		var wg sync.WaitGroup
		for slot := range c.shape.Depth {
			wg.Go(func() {
				for range 20 {
					if err := f.Call(slot); err != nil {
						t.Errorf("%s %v: %v", c.op, c.shape, err)
						return
					}
				}
			})
		}
		wg.Wait()
		for i := range f.calls {
			if d := f.calls[i].data; d != nil && !bytes.Equal(d, f.body) {
				t.Errorf("%s %v: slot %d has other data than the server's", c.op, c.shape, i)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The client with one goroutine makes exactly the number of calls asked for.
func TestFloorAsync(t *testing.T) {
	addr := floorListener(t)
	for _, depth := range []int{1, 32, 256} {
		f, err := DialFloorAsync(addr, Shape{128, depth})
		if err != nil {
			t.Fatal(err)
		}
		made := f.number
		for _, n := range []int{1, depth, 3*depth + 1} {
			if _, err := f.Run(n); err != nil {
				t.Errorf("%d calls, %d at a time: %v", n, depth, err)
			}
			if made += uint32(n); f.number != made {
				t.Errorf("%d messages were sent, want %d", f.number, made)
			}
			for i := range f.calls[:min(n, depth)] {
				if !bytes.Equal(f.calls[i].reply[replyHead:], f.body) {
					t.Errorf("slot %d of %d has other data than was sent", i, depth)
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := f.Run(1); err == nil {
			t.Error("a call over a closed connection passes")
		}
	}
}

// Each octet of a message is under its CRC.
func TestFloorChangedOctets(t *testing.T) {
	body := Pattern(9001)
	for name, send := range map[string]func(f *floorEnd) error{
		"Send": func(f *floorEnd) error {
			f.w.queue(func(b *batch) { f.send(b, body[:80], body[:5]) })
			return nil
		},
		"Read Request": func(f *floorEnd) error {
			f.w.queue(func(b *batch) { f.request(b, remote{1, 9001, 0}) })
			return nil
		},
		"Write":         func(f *floorEnd) error { return f.transfer(segment.Header{Type: segment.Write}, body) },
		"Read Response": func(f *floorEnd) error { return f.transfer(segment.Header{Type: segment.ReadResponse}, body) },
	} {
		a, b := net.Pipe()
		from := newFloorEnd(a, Shape{})
		if err := send(&from); err != nil {
			t.Fatal(err)
		}
		go func() { from.w.flush(false); a.Close() }()
		sent, _ := io.ReadAll(b)
		a, b = net.Pipe()
		go func() {
			a.Write(sent)
			for at := range sent {
				// Octets 0 to 3 and 19 have the lengths. Long payload is changed near its ends.
				if at < 4 || at == 19 || at > 200 && at < len(sent)-16 {
					continue
				}
				changed := bytes.Clone(sent)
				changed[at] ^= 1
				a.Write(changed)
			}
			a.Close()
		}()
		receive := func() error {
			to := newFloorEnd(b, Shape{})
			to.r.ahead = 1 // so that nothing of the next message is in the buffer
			_, err := to.receive(func() ([]byte, error) { return make([]byte, to.h.Payload()), nil })
			return err
		}
		if err := receive(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		n := 0
		err := receive()
		for ; errors.Is(err, errCRC); err = receive() {
			n++
		}
		if !errors.Is(err, io.EOF) || n < 30 {
			t.Errorf("%s: %d errors of CRCs, then %v, want one for each octet, then the end", name, n, err)
		}
	}
}

// Messages that do not belong to the program are refused, by the server and by the client.
func TestFloorRefuses(t *testing.T) {
	call := func(h floorHeader, rpc []byte) func(*floorEnd, *batch) {
		return func(f *floorEnd, b *batch) { f.send(b, h.append(nil), rpc) }
	}
	lists := func(words ...uint32) func(*floorEnd, *batch) {
		return func(f *floorEnd, b *batch) { f.send(b, appendWords(nil, words...), make([]byte, 100)) }
	}
	data := func(h segment.Header) func(*floorEnd, *batch) {
		return func(f *floorEnd, b *batch) { f.end(b, &h, uint32(f.begin(b, &h, 8))) }
	}
	whole := func(f *floorEnd, b *batch, h segment.Header) {
		at := f.begin(b, &h, 0)
		f.end(b, &h, crc.Checksum(b.own[at:]))
	}
	sink := appendCall(nil, 1, procSink, 1)
	for name, c := range map[string]struct {
		send func(*floorEnd, *batch)
		want string
	}{
		"short message":        {func(f *floorEnd, b *batch) { f.send(b, make([]byte, 20), nil) }, "found a message of 20 octets, expected at least 28"},
		"version":              {lists(1, 2, 32, 0, 0, 0, 0), "type 0 in version 2, expected RDMA_MSG"},
		"type":                 {lists(1, 1, 32, 4, 0, 0, 0), "type 4 in version 1, expected RDMA_MSG"},
		"reply chunk":          {lists(1, 1, 32, 0, 0, 0, 1), "expected at most one segment a list and no reply chunk"},
		"two reads":            {lists(1, 1, 32, 0, 1, 0, 1, 1, 0, 0, 1), "found chunk lists that go on with 0x1"},
		"short Call":           {call(floorHeader{}, sink[:40]), "found a Call of 40 octets, expected one of program 0x20200051 with at least 44"},
		"procedure":            {call(floorHeader{}, appendCall(nil, 1, 9, 1)), "found a Call of procedure 9, expected 1 to 4"},
		"read chunk":           {call(floorHeader{read: remote{1, maxSize + 1, 0}}, sink), "found a read chunk of 16777217 octets"},
		"write chunk":          {call(floorHeader{write: remote{1, 8, 0}}, appendCall(nil, 1, procFill, 9)), "found a Call for 9 octets into a write chunk of 8"},
		"no write chunk":       {call(floorHeader{}, appendCall(nil, 1, procFill, 6000)), "found a Call for 6000 octets into a write chunk of 0"},
		"Write to the server":  {data(segment.Header{Type: segment.Write, BufferID: 1}), "found a RDMA_Write with number 0, which answers no Read"},
		"Read of the server":   {func(f *floorEnd, b *batch) { f.request(b, remote{1, 8, 0}) }, "found a RDMA_Read_Request, expected none from a client"},
		"Read Response":        {data(segment.Header{Type: segment.ReadResponse}), "which answers no Read"},
		"goodbye of the peer":  {func(f *floorEnd, b *batch) { whole(f, b, segment.Header{Res: resReport}) }, io.EOF.Error()},
		"message that is long": {func(f *floorEnd, b *batch) { f.begin(b, &segment.Header{}, 65511) }, "found a message of 65540 octets, expected at most the buffer's 65536"},
	} {
		a, b := net.Pipe()
		got := make(chan error)
		go func() {
			defer b.Close()
			got <- serveFloor(b, nil)
		}()
		f := newFloorEnd(a, Shape{})
		if err := f.hello(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.greeted(); err != nil {
			t.Fatal(err)
		}
		f.w.queue(func(b *batch) { c.send(&f, b) })
		go f.w.flush(false)
		if err := <-got; err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		a.Close()
	}
}

// An end refuses a first message that breaks rdmatcp's connection profile.
func TestFloorRefusesHello(t *testing.T) {
	hello := func(h segment.Header, control ...uint32) func(id uint64) []byte {
		return func(id uint64) []byte {
			h.Begin, h.End, h.ConnID = true, true, id
			b, err := segment.Append(nil, &h, appendWords(nil, control...), nil)
			if err != nil {
				t.Error(err)
			}
			return b
		}
	}
	write := segment.Header{Type: segment.Write}
	for name, c := range map[string]struct {
		hello func(id uint64) []byte
		want  string
	}{
		"type":          {hello(segment.Header{}, helloMagic, 1<<24, 0, 0), "found a first message Send with 16 octets of control data that begin with 0x72706431, expected RDMA_Write"},
		"magic":         {hello(write, 1, 1<<24, 0, 0), "that begin with 0x1, expected"},
		"short":         {hello(write, helloMagic), "RDMA_Write with 4 octets of control data"},
		"refusal":       {hello(write, helloMagic, 1<<24|2<<16, 0, 0), "found a refusal of the connection, with flags 0x2"},
		"Connection ID": {func(id uint64) []byte { return hello(write, helloMagic, 1<<24, 0, 0)(id + 1) }, "found Connection ID"},
		"CRC":           {func(id uint64) []byte { b := hello(write, helloMagic, 1<<24, 0, 0)(id); b[40] ^= 1; return b }, segment.BadCRC.Error()},
		"version":       {func(uint64) []byte { return make([]byte, 100) }, segment.BadVersion.Error()},
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			f := newFloorEnd(conn, Shape{})
			if id, err := f.greeted(); err == nil {
				conn.Write(c.hello(id))
				conn.Read(make([]byte, 1)) // until the client closes it
			}
		}()
		if _, err := DialFloor(ln.Addr().String(), Call, Shape{128, 1}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		ln.Close()
	}
}

// A client whose server sends something else, or disconnects, fails its calls.
func TestFloorClientRefuses(t *testing.T) {
	head := floorHeader{}
	for name, c := range map[string]struct {
		send func(f *floorEnd) error
		want string
	}{
		"XID":   {func(f *floorEnd) error { f.w.queue(func(b *batch) { f.send(b, head.append(nil), nil) }); return nil }, "found a reply with XID 0x0, which no call has"},
		"range": {func(f *floorEnd) error { f.w.queue(func(b *batch) { f.request(b, remote{1, 8 << 20, 8}) }); return nil }, "found a Read of 8388608 octets at 0x8"},
		"handle": {
			func(f *floorEnd) error {
				return f.transfer(segment.Header{Type: segment.Write, BufferID: 9}, []byte{1})
			},
			"found a RDMA_Write to handle 0x9, expected a Write to one of 1 to 2",
		},
		"place": {
			func(f *floorEnd) error {
				return f.transfer(segment.Header{Type: segment.Write, BufferID: 1, Offset: 8 << 10}, []byte{1})
			},
			"found a RDMA_Write of 1 octets at 0x2000, expected at most 8192 from 0x0",
		},
		"end": {func(f *floorEnd) error { return nil }, io.EOF.Error()},
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			f := newFloorEnd(conn, Shape{})
			if f.id, err = f.greeted(); err != nil || f.hello() != nil {
				return
			}
			if _, err := f.receive(nil); err == nil && c.send(&f) == nil {
				f.w.flush(false)
			}
		}()
		if _, err := DialFloor(ln.Addr().String(), Read, Shape{8 << 10, 2}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		ln.Close()
	}
}
