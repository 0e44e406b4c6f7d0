package rdmatest

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture"
	"github.com/rpcrdma/rpcrdma/cmd/xdrgen/internal/capture/capturetest"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
)

// conversation returns the packets of a TCP connection with calls, in segments of random sizes. If
// shuffled is set, some come out of order or twice.
func conversation(r *rand.Rand, client string, calls int, shuffled bool) []capturetest.Packet {
	const server = "10.0.0.2:2049"
	var all []capturetest.Packet
	seq := map[bool]uint32{false: r.Uint32(), true: r.Uint32()}
	now := int64(1e18)
	syn := func(fromServer bool) {
		p := capturetest.Packet{Time: now, From: client, To: server, Seq: seq[fromServer] - 1, Flags: capturetest.SYN}
		if fromServer {
			p.From, p.To, p.Flags, p.Ack = server, client, capturetest.SYN|capturetest.ACK, seq[false]
		}
		all = append(all, p)
	}
	syn(false)
	syn(true)
	say := func(fromServer bool, message string) {
		for len(message) > 0 {
			n := min(60+r.IntN(1400), len(message)) // tshark needs a whole header
			now += 1000 * int64(1+r.IntN(500))
			p := capturetest.Packet{Time: now, From: client, To: server, Seq: seq[fromServer], Ack: seq[!fromServer], Flags: capturetest.ACK, Payload: message[:n]}
			if fromServer {
				p.From, p.To = server, client
			}
			all = append(all, p)
			seq[fromServer] += uint32(n)
			message = message[n:]
		}
	}
	for i := range uint32(calls) {
		xid := 1000*r.Uint32N(1<<20) + i
		data := strings.Repeat(capturetest.Words(r.Uint32()), r.IntN(900))
		call := capturetest.Call(xid, 0x20000042, 1+i%3, i%50, data)
		if cut := r.IntN(len(call)); i%4 == 1 { // two fragments
			cut = max(40, cut&^3)
			say(false, capturetest.Words(uint32(cut))+call[:cut]+capturetest.Record(call[cut:]))
		} else {
			say(false, capturetest.Record(call))
		}
		say(true, capturetest.Record(capturetest.Reply(xid, data)))
	}
	if !shuffled {
		return all
	}
	for i := 3; i < len(all); i++ {
		switch r.IntN(12) {
		case 0: // out of order, in one direction
			if all[i].From == all[i-1].From && len(all[i-1].Payload) > 0 {
				all[i], all[i-1] = all[i-1], all[i]
			}
		case 1:
			all = slices.Insert(all, i, all[i-1]) // sent again
		}
	}
	for i := range all {
		all[i].Time = int64(1e18) + int64(i)*100000
	}
	return all
}

// shown has the fields of a call that both show.
type shown struct {
	XID, Program, Version, Procedure uint64
	Replied                          bool
}

// Tshark finds the same calls, over TCP in and out of order and over UDP, with the same times.
func TestTsharkFindsTheSameCalls(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var datagrams []capturetest.Packet
	for i := range uint32(40) {
		p := capturetest.Packet{Time: int64(1e18) + int64(i)*1e6, From: "[fd00::1]:800", To: "[fd00::2]:2049", UDP: true, Payload: capturetest.Call(i, 0x20000042, 1, i, "")}
		datagrams = append(datagrams, p)
		p.From, p.To, p.Time, p.Payload = p.To, p.From, p.Time+5e5, capturetest.Reply(i, "")
		datagrams = append(datagrams, p)
	}
	for name, packets := range map[string][]capturetest.Packet{
		"in order":     conversation(r, "10.0.0.1:700", 120, false),
		"out of order": conversation(r, "10.0.0.1:701", 120, true),
		"udp":          datagrams,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "calls.pcapng")
			b := capturetest.File(packets...)
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			var f found
			reader, err := capture.NewReader(bytes.NewReader(b), capture.Limits{}, &f)
			if err == nil {
				err = reader.Run()
			}
			if err != nil || len(f.notes) > 0 {
				t.Fatalf("notes %q, error %v", f.notes, err)
			}
			ours, took := map[uint64]shown{}, map[uint64]float64{}
			for _, c := range f.calls {
				ours[uint64(c.XID)] = shown{uint64(c.XID), uint64(c.Program), uint64(c.Version), uint64(c.Procedure), c.HasReply}
				took[uint64(c.XID)] = float64(c.Answered.Last-c.Sent.Last) / 1e9
			}
			theirs := map[uint64]shown{}
			in := tshark.Input{File: file, Args: []string{"-o", "rpc.dissect_unknown_programs:TRUE", "-o", "tcp.reassemble_out_of_order:TRUE"}}
			for _, p := range tshark.Parts(t, in, "rpc") {
				if p.One("rpc.xid") == "" {
					continue // a fragment before the last one
				}
				xid := p.Number(t, "rpc.xid")
				c := theirs[xid]
				if p.Number(t, "rpc.msgtyp") == 0 {
					c = shown{xid, p.Number(t, "rpc.program"), p.Number(t, "rpc.programversion"), p.Number(t, "rpc.procedure"), c.Replied}
				} else {
					c.Replied = true
					seconds, err := strconv.ParseFloat(p.One("rpc.time"), 64)
					if name != "out of order" && (err != nil || math.Abs(seconds-took[xid]) > 1e-8) {
						t.Errorf("XID %#x took %s s in tshark, %f here", xid, p.One("rpc.time"), took[xid])
					}
				}
				theirs[xid] = c
			}
			if d := cmp.Diff(theirs, ours); d != "" || len(ours) < 40 {
				t.Errorf("%d calls (-tshark +here):\n%s", len(ours), d)
			}
		})
	}
}
