package strangertest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// duplex is a pipe in each direction, so that each can be closed alone. A Write returns when all of
// it was read.
type duplex struct{ in, out net.Conn }

func pipe() (a, b net.Conn) {
	r1, w1 := net.Pipe()
	r2, w2 := net.Pipe()
	return duplex{r1, w2}, duplex{r2, w1}
}

func (d duplex) Read(b []byte) (int, error)         { return d.in.Read(b) }
func (d duplex) Write(b []byte) (int, error)        { return d.out.Write(b) }
func (d duplex) Close() error                       { return errors.Join(d.in.Close(), d.out.Close()) }
func (d duplex) CloseWrite() error                  { return d.out.Close() }
func (d duplex) LocalAddr() net.Addr                { return d.in.LocalAddr() }
func (d duplex) RemoteAddr() net.Addr               { return d.in.RemoteAddr() }
func (d duplex) SetReadDeadline(t time.Time) error  { return d.in.SetReadDeadline(t) }
func (d duplex) SetWriteDeadline(t time.Time) error { return d.out.SetWriteDeadline(t) }
func (d duplex) SetDeadline(t time.Time) error {
	return errors.Join(d.in.SetDeadline(t), d.out.SetDeadline(t))
}

// A stream with each operation is the same wherever it is cut in two, over a pipe, where the cut
// always shows, and over TCP (RFC 5044 §5.2).
func TestStreamIsTheSameWhereverItIsCut(t *testing.T) {
	for name, stream := range map[string]func() (net.Conn, net.Conn){
		"pipe": pipe,
		"TCP":  func() (net.Conn, net.Conn) { return tcp(t) },
	} {
		t.Run(name, func(t *testing.T) {
			dev := open(t, config())
			for cut := 0; ; cut++ {
				if !split(t, dev, stream, cut) {
					t.Logf("%d cuts", cut-1)
					return
				}
			}
		})
	}
}

// longer is a message of two segments.
var longer = strings.Repeat("a longer message", 9)

// split plays the stream, cut behind cut bytes. It reports whether the stream is that long.
func split(t *testing.T, dev *iwarp.Device, stream func() (net.Conn, net.Conn), cut int) bool {
	h := newHost(t, dev)
	mr := h.region("memory", bytes.Repeat([]byte{'.'}, 100), everything)
	gone := h.region("gone", make([]byte, 1), everything)
	h.post(100, 0, 200)
	ours, theirs := stream()
	defer ours.Close()
	result := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		req, err := dev.AcceptConn(ctx, theirs)
		if err == nil {
			_, err = req.Accept(ctx, h.qp, nil)
		}
		result <- err
	}()
	p, err := stranger.Initiate(ours, stranger.Config{
		Startup: enhanced(true), MaxULPDU: 128,
		Regions: map[uint32]stranger.Region{9: {Bytes: make([]byte, 100)}},
	})
	h.must(err)
	defer p.Close()

	stag, to := mr.RKey(), mr.RemoteAddr()
	b := p.Wire(p.DueSend(stranger.Send, []byte("first"), 0)...)
	b = append(b, p.Wire(p.DueWrite(stag, to+50, []byte("written"))...)...)
	b = append(b, p.Wire(p.DueRead(stranger.Read{SinkSTag: 9, SinkTO: 3, Size: 6, SourceSTag: stag, SourceTO: to + 49}))...)
	b = append(b, p.Wire(p.DueSend(stranger.SendSE, nil, 0)...)...)
	b = append(b, p.Wire(p.DueSend(stranger.SendInvalidate, []byte(longer), gone.RKey())...)...)
	if cut > len(b) {
		p.PutBytes(b)
	} else {
		p.PutBytes(b[:cut])
		if _, ok := ours.(duplex); !ok {
			time.Sleep(20 * time.Microsecond) // lets the first part arrive alone, mostly
		}
		p.PutBytes(b[cut:])
	}
	h.must(<-result)
	for _, want := range []string{"first", "", longer} {
		if got, _, err := h.message(); string(got) != want || err != nil {
			t.Fatalf("cut behind %d bytes: message %q, %v, want %q", cut, got, err, want)
		}
	}
	if e := p.Next(); e.Kind != stranger.ReadDone {
		t.Fatalf("cut behind %d bytes: %v", cut, e)
	}
	if got, _ := p.Memory(9); string(got[3:9]) != ".writt" {
		t.Fatalf("cut behind %d bytes: read %q", cut, got[3:9])
	}
	if gone.State() != verbs.MRInvalid || string(mr.Bytes()[50:57]) != "written" {
		t.Fatalf("cut behind %d bytes: region %v, %q", cut, gone.State(), mr.Bytes()[50:57])
	}
	noComplaints(t, p)
	return cut <= len(b)
}
