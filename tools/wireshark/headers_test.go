package wireshark_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rpcrdma/rpcrdma/gen/rpcrdma1"
	"github.com/rpcrdma/rpcrdma/internal/tshark"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs/wrap/trace"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// headerBytes is the number of bytes of each Send that sends keeps. Headers are shorter.
const headerBytes = 4096

// sends records the first bytes of the Sends of a device, by direction.
type sends struct {
	posted, received [][]byte
}

// wrap returns a device whose Sends are recorded.
func (s *sends) wrap(dev verbs.Device) verbs.Device {
	return trace.New(trace.Config{Head: headerBytes, Sink: func(e trace.Event) {
		switch {
		case e.Kind == trace.PostSend && (e.Opcode == verbs.Send || e.Opcode == verbs.SendWithInvalidate):
			s.posted = append(s.posted, []byte(e.Head))
		case e.Kind == trace.Complete && e.WCOpcode == verbs.WCRecv && e.Status == verbs.StatusSuccess:
			s.received = append(s.received, []byte(e.Head))
		}
	}}).Device(dev)
}

// headerOf returns the fields of a header of version 1 by Wireshark's names, as the generated code
// decodes them, and the kind of message.
func headerOf(t *testing.T, b []byte) (fields map[string][]uint64, kind string) {
	t.Helper()
	var m rpcrdma1.Message
	if err := m.DecodeXDR(xdr.NewDecoder(b, nil)); err != nil {
		t.Fatalf("%x: %v", b, err)
	}
	f := map[string][]uint64{}
	add := func(name string, v uint64) { f[name] = append(f[name], v) }
	add("xid", uint64(m.XID))
	add("version", uint64(m.Vers))
	add("flow_control", uint64(m.Credit))
	add("msg_type", uint64(m.Body.Proc))
	lists := func(reads []rpcrdma1.ReadChunk, writes []rpcrdma1.WriteChunk, reply xdr.Optional[rpcrdma1.WriteChunk]) {
		add("reads_count", uint64(len(reads)))
		add("writes_count", uint64(len(writes)))
		segment := func(s rpcrdma1.Segment) {
			add("rdma_handle", uint64(s.Handle))
			add("rdma_length", uint64(s.Length))
			add("rdma_offset", s.Offset)
		}
		for _, r := range reads {
			add("position", uint64(r.Position))
			segment(r.Target)
		}
		if reply.Present {
			writes = append(writes[:len(writes):len(writes)], reply.Value)
			add("reply_count", 1)
		} else {
			add("reply_count", 0)
		}
		for _, w := range writes {
			add("segment_count", uint64(len(w.Target)))
			for _, s := range w.Target {
				segment(s)
			}
		}
		kind = fmt.Sprintf("%v, %d reads, %d writes, reply chunk %v", m.Body.Proc, min(len(reads), 2), min(len(f["segment_count"]), 2), reply.Present)
	}
	kind = m.Body.Proc.String()
	switch m.Body.Proc {
	case rpcrdma1.ProcMsg:
		lists(m.Body.Msg.Reads, m.Body.Msg.Writes, m.Body.Msg.Reply)
	case rpcrdma1.ProcNomsg:
		lists(m.Body.Nomsg.Reads, m.Body.Nomsg.Writes, m.Body.Nomsg.Reply)
	case rpcrdma1.ProcMsgp:
		add("rdma_align", uint64(m.Body.Msgp.Align))
		add("rdma_thresh", uint64(m.Body.Msgp.Thresh))
		lists(m.Body.Msgp.Reads, m.Body.Msgp.Writes, m.Body.Msgp.Reply)
	case rpcrdma1.ProcError:
		add("errcode", uint64(m.Body.Error.Err))
		kind += " " + m.Body.Error.Err.String()
		if m.Body.Error.Err == rpcrdma1.ErrVers {
			add("vers_low", uint64(m.Body.Error.Vrange.Low))
			add("vers_high", uint64(m.Body.Error.Vrange.High))
		}
	}
	return f, kind
}

// headerNames are Wireshark's names of the fields of a header, without "rpcordma.".
var headerNames = []string{
	"xid", "version", "flow_control", "msg_type", "reads_count", "writes_count", "reply_count", "position",
	"rdma_handle", "rdma_length", "rdma_offset", "segment_count", "rdma_align", "rdma_thresh", "errcode", "vers_low", "vers_high",
}

// compareHeaders compares the headers of version 1 that Wireshark shows with those that the
// generated code decodes from the bytes that were posted and received, field by field. It returns
// the kinds of messages.
func compareHeaders(t *testing.T, in tshark.Input, want *sends) (kinds map[string]int) {
	t.Helper()
	var shown [2][]map[string][]uint64
	dir := 0
	for _, p := range tshark.Only(tshark.Parts(t, in), "tcp", "rpcordma") {
		if p.Proto == "tcp" {
			dir = 0
			if p.Number(t, "tcp.srcport") == 20049 {
				dir = 1
			}
			continue
		}
		f := map[string][]uint64{}
		for _, name := range headerNames {
			if v := p.Numbers(t, "rpcordma."+name); v != nil {
				f[name] = v
			}
		}
		shown[dir] = append(shown[dir], f)
	}
	kinds = map[string]int{}
	for dir, heads := range [][][]byte{want.posted, want.received} {
		var decoded []map[string][]uint64
		for _, b := range heads {
			if len(b) < 8 || binary.BigEndian.Uint32(b[4:]) != 1 {
				continue
			}
			f, kind := headerOf(t, b)
			decoded = append(decoded, f)
			kinds[kind]++
		}
		if d := cmp.Diff(decoded, shown[dir]); d != "" {
			t.Errorf("direction %d: Wireshark shows other headers than were sent (-sent +shown):\n%s", dir, d)
		}
	}
	return kinds
}
