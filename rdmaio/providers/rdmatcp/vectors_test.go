package rdmatcp_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// Vectors: segments written byte by byte from the draft, which a peer sends over a socket, and
// the device's reaction. The peer shares no code with this package: nothing below uses package
// segment or crc.
//
// A segment is a text of hexadecimal bytes. Blanks and | are ignored. There are also
//
//	'text'   its bytes
//	b*n      byte b, n times
//	CID      the Connection ID, 0123456789abcdef
//	KEY      the key of the target, a region with all remote rights
//	RO WO LO keys of regions with the right to read, to write, with neither
//	R0 R1    numbers of the Read_Requests that the device sent
//	CRC      the CRC of all before it in this segment

// Addresses in the device's memory, which is filled with 0xa5 before.
const (
	targetBytes = 0x40000 // KEY, RO, WO and LO are this range
	recvAt      = 0x80000 // the first Receive
	recvEach    = 0x18000 // from one Receive to the next
	readAt      = 0x60000 // target of the first Read
	readEach    = 0x10000
)

// A vector is the input of a device, and the reaction to it.
type vector struct {
	name  string
	recvs []int    // sizes of the Receives that are posted
	reads []int    // sizes of the Reads that the device has sent
	wire  []string // segments of the peer
	fin   bool     // the peer then closes its direction of the stream

	wcs    []wc     // completions, Reads and Receives in their own order
	memory []placed // bytes that are not 0xa5 afterwards
	answer []string // segments that come back
	noisy  bool     // others may follow

	refused error // the reason why the connection ended; nil if it continues
	says    string
}

type wc struct {
	op  verbs.WCOpcode
	len uint32
}

type placed struct {
	at   int
	what string
}

// vectorPeer is the scripted peer.
type vectorPeer struct {
	t    *testing.T
	conn net.Conn
	keys map[string]uint32
}

// assemble returns the bytes of one segment.
func (p *vectorPeer) assemble(text string) (b []byte) {
	p.t.Helper()
	for text = strings.TrimLeft(text, " |"); text != ""; text = strings.TrimLeft(text, " |") {
		if rest, ok := strings.CutPrefix(text, "'"); ok {
			quoted, rest, _ := strings.Cut(rest, "'")
			b, text = append(b, quoted...), rest
			continue
		}
		token := text
		if i := strings.IndexAny(text, " |'"); i >= 0 {
			token = text[:i]
		}
		text = text[len(token):]
		if key, ok := p.keys[token]; ok {
			b = binary.BigEndian.AppendUint32(b, key)
			continue
		}
		times := "1"
		if i := strings.IndexByte(token, '*'); i >= 0 {
			token, times = token[:i], token[i+1:]
		}
		switch token {
		case "CID":
			token = "0123456789abcdef"
		case "CRC":
			token = hex.EncodeToString(binary.LittleEndian.AppendUint32(nil, divide(b, rdmaPolynomial)))
		}
		n, err := strconv.Atoi(times)
		one, err2 := hex.DecodeString(token)
		if err != nil || err2 != nil {
			p.t.Fatalf("%q is not a byte of a vector", token)
		}
		b = append(b, bytes.Repeat(one, n)...)
	}
	return b
}

// rdmaPolynomial is 0xDB710641 with its bits in reverse order.
const rdmaPolynomial = 0x82608edb

// divide returns the remainder of a division bit by bit, each octet's least significant bit first.
// The first 32 bits and the remainder are complemented.
func divide(b []byte, polynomial uint32) uint32 {
	r := ^uint32(0)
	for _, v := range b {
		r ^= uint32(v)
		for range 8 {
			odd := r & 1
			if r >>= 1; odd == 1 {
				r ^= polynomial
			}
		}
	}
	return ^r
}

// next reads the next segment that the device sends.
func (p *vectorPeer) next() []byte {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(patience))
	b := make([]byte, 4, 70_000)
	if _, err := io.ReadFull(p.conn, b); err != nil {
		p.t.Fatalf("no segment: %v", err)
	}
	b = b[:(int(b[2])<<8+int(b[3])+3)/4*4+4]
	if _, err := io.ReadFull(p.conn, b[4:]); err != nil {
		p.t.Fatalf("no whole segment: %v", err)
	}
	if end := len(b) - 4; binary.LittleEndian.Uint32(b[end:]) != divide(b[:end], rdmaPolynomial) {
		p.t.Fatalf("wrong CRC: %x", b)
	}
	return b
}

// newVector connects a plain socket to a device without the profile, and brings both to the state
// in which the vector begins.
func newVector(t *testing.T, dev *rdmatcp.Device, tc *vector) (*vectorPeer, *victim) {
	t.Helper()
	a, v := attack(t, dev, true)
	p := &vectorPeer{t: t, conn: a.conn, keys: map[string]uint32{}}
	v.poison()
	for name, rights := range map[string]verbs.Access{
		"KEY": verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite,
		"RO":  verbs.AccessRemoteRead, "WO": verbs.AccessLocalWrite | verbs.AccessRemoteWrite, "LO": verbs.AccessLocalWrite,
	} {
		mr, err := v.pd.RegisterMemory(v.mr.Bytes()[:targetBytes], rights)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { mr.Deregister() })
		p.keys[name] = mr.RKey()
	}
	for i, n := range tc.recvs {
		if _, err := v.qp.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: v.mr, Offset: recvAt + i*recvEach, Length: n}}}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(tc.reads) == 0 {
		return p, v
	}
	// A server can send when it knows the Connection ID: after an empty Write.
	p.write([][]byte{p.assemble("01 0d 0020 | CID | 000000ff | ffff 00 00 | 00000000 | 00000000 | 00000000 | CRC")}, false)
	for i, n := range tc.reads {
		v.send(t, []verbs.SendWR{{
			Opcode: verbs.RDMARead, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: v.mr, Offset: readAt + i*readEach, Length: n}},
			RKey: 0xbeef, RemoteAddr: 0x77,
		}})
		b := p.next()
		want := p.assemble("01 0e 0020 | CID | 00*4 | 0000 00 00 | 0000beef | 00000077 " + hex.EncodeToString(binary.BigEndian.AppendUint32(nil, uint32(n))))
		number := b[12:16]
		p.keys["R"+strconv.Itoa(i)] = binary.BigEndian.Uint32(number)
		copy(want[12:], number)
		if !bytes.Equal(b[:32], want) {
			t.Fatalf("Read_Request %x, want %x", b[:32], want)
		}
	}
	return p, v
}

// write sends segments in one write, or byte by byte. The device may close the connection
// during the write.
func (p *vectorPeer) write(segments [][]byte, slowly bool) {
	b := bytes.Join(segments, nil)
	p.conn.SetWriteDeadline(time.Now().Add(patience))
	step := len(b)
	if slowly {
		step = 1
	}
	for len(b) > 0 {
		n, err := p.conn.Write(b[:min(step, len(b))])
		if b = b[n:]; err != nil {
			return
		}
	}
}

func (tc *vector) run(t *testing.T, dev *rdmatcp.Device, slowly bool) {
	p, v := newVector(t, dev, tc)
	var segments [][]byte
	for _, s := range tc.wire {
		segments = append(segments, p.assemble(s))
	}
	p.write(segments, slowly)
	if tc.fin {
		p.conn.(*net.TCPConn).CloseWrite()
	}
	if tc.refused != nil || tc.says != "" {
		v.fails(verbs.ErrConnectionBroken)
		err := v.qp.Err()
		if tc.refused != nil && !errors.Is(err, tc.refused) {
			t.Errorf("error %q, want %q", err, tc.refused)
		}
		if !strings.Contains(err.Error(), tc.says) {
			t.Errorf("error %q does not say %q", err, tc.says)
		}
	}
	for _, want := range tc.wcs {
		if got := v.next(); got.Status != verbs.StatusSuccess || got.Opcode != want.op || got.ByteLen != want.len {
			t.Fatalf("completion %+v, want %+v; %v", got, want, v.qp.Err())
		}
	}
	for _, want := range tc.answer {
		if got, want := p.next(), p.assemble(want); !bytes.Equal(got, want) {
			t.Fatalf("answer\n%x, want\n%x", got, want)
		}
	}
	if tc.refused == nil && tc.says == "" {
		tc.stands(p, v)
	} else {
		tc.ended(p, v)
	}
	want := bytes.Repeat([]byte{0xa5}, sideBytes)
	for _, m := range tc.memory {
		copy(want[m.at:], p.assemble(m.what))
	}
	if got := v.mr.Bytes(); !bytes.Equal(got, want) { // fast under the race detector
		for i, b := range got {
			if b != want[i] {
				t.Fatalf("byte %#x of the memory is %02x, want %02x", i, b, want[i])
			}
		}
	}
}

// stands checks that all input was accepted, and that the connection closes in order when the peer
// closes it.
func (tc *vector) stands(p *vectorPeer, v *victim) {
	p.t.Helper()
	p.conn.(*net.TCPConn).CloseWrite()
	select {
	case <-v.lost:
	case <-time.After(patience):
		p.t.Fatal("the connection outlives the stream")
	}
	if err := v.qp.Err(); !errors.Is(err, verbs.ErrPeerDisconnected) || errors.Is(err, verbs.ErrConnectionBroken) {
		p.t.Errorf("error %v, want %v", err, verbs.ErrPeerDisconnected)
	}
	for range len(tc.recvs) - count(tc.wcs, verbs.WCRecv) {
		if got := v.next(); got.Status != verbs.StatusFlushed {
			p.t.Errorf("completion %+v, want a flushed Receive", got)
		}
	}
	v.none()
	tc.silent(p)
}

// ended checks that no other request has succeeded and nothing was sent back.
func (tc *vector) ended(p *vectorPeer, v *victim) {
	p.t.Helper()
	for range len(tc.recvs) + len(tc.reads) - len(tc.wcs) {
		if got := v.next(); got.Status == verbs.StatusSuccess {
			p.t.Errorf("completion %+v of a refused message", got)
		}
	}
	v.none()
	tc.silent(p)
}

// silent checks that the device closes the stream and sends nothing more.
func (tc *vector) silent(p *vectorPeer) {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(patience))
	rest, err := io.ReadAll(p.conn)
	if isTimeout(err) {
		p.t.Error("the device did not hang up")
	}
	if len(rest) > 0 && !tc.noisy {
		p.t.Errorf("%d bytes too many came back: %x", len(rest), rest[:min(len(rest), 64)])
	}
}

func count(all []wc, op verbs.WCOpcode) (n int) {
	for _, w := range all {
		if w.op == op {
			n++
		}
	}
	return n
}

func runVectors(t *testing.T, all []vector) {
	dev := device(t, rawConfig())
	for i := range all {
		tc := &all[i]
		t.Run(tc.name, func(t *testing.T) {
			t.Run("at once", func(t *testing.T) { tc.run(t, dev, false) })
			size := 0
			for _, s := range tc.wire {
				size += len((&vectorPeer{t: t, keys: map[string]uint32{"KEY": 0, "RO": 0, "WO": 0, "LO": 0, "R0": 0, "R1": 0}}).assemble(s))
			}
			if size < 400 {
				t.Run("byte by byte", func(t *testing.T) { tc.run(t, dev, true) })
			}
		})
	}
}
