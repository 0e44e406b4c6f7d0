// Package wireshark_test runs the dissectors of this folder in tshark.
//
// rpcrdma2.lua, which xdrgen makes, reads captures of the kind that "rpcrdma ping -pcap" writes.
// Its messages are encoded by hand from draft-ietf-nfsv4-rpcrdma-version-two-00. rdmatcp.lua reads
// the bytes of the provider over TCP, and the fields that it shows are compared with those of
// package segment.
package wireshark_test

import (
	"strings"
	"testing"
)

// xidField is the XID in a header of version 2.
const xidField = "rpcrdma2.rpcrdma_common.rdma_xid"

const (
	start = "0000002a 00000002 00200003 " // XID 42, version 2, ceiling 32, 3 granted
	none  = "00000000 00000000 00000000 00000000 "
	call  = "0000002a 00000000 00000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000"
	reply = "0000002a 00000001 00000000 00000000 00000000 00000000"
)

// Every kind of message has its fields, and RPC messages go on to Wireshark's own dissectors.
func TestFields(t *testing.T) {
	fields := []string{
		"rpcrdma_common.rdma_xid", "rpcrdma_common.rdma_vers", "credit.ceiling", "credit.granted", "rpcrdma_common.rdma_credit", "rpcrdma_common.rdma_htype",
		"rpcrdma2_hdr_prefix.rdma_flags", "grant",
		"rpcrdma2_chunk_lists.rdma_inv_handle", "rpcrdma2_read_segment.rdma_position", "rpcrdma2_segment.rdma_handle", "rpcrdma2_segment.rdma_length",
		"rpcrdma2_segment.rdma_offset", "rpcrdma2_write_chunk.rdma_target.count",
		"rpcrdma2_error.rdma_err", "rpcrdma2_err_vers.rdma_vers_low", "rpcrdma2_err_vers.rdma_vers_high", "rpcrdma2_error.rdma_max_read_chunks",
		"rpcrdma2_err_write.rdma_chunk_index", "rpcrdma2_err_write.rdma_length_needed", "rpcrdma2_error.rdma_reply_length_needed", "form1", "form1.low", "form1.high",
		"rpcrdma2_propval.rdma_which", "rpcrdma2_propval.rdma_data", "property.RDMA2_PROPID_SBSIZ", "property.RDMA2_PROPID_BRS", "property.RDMA2_PROPID_HOSTAUTH",
		"part", "part.last", "undecoded", "fault.short", "fault.bool", "fault.trailing", "flag", "inside",
	}
	var messages []message
	for _, c := range cases {
		messages = append(messages, message{data: unhex(t, c.hex), fromServer: c.fromServer, invalidate: c.invalidate})
	}
	args := []string{"-T", "fields", "-E", "separator=|", "-E", "aggregator=;", "-e", "_ws.col.Info"}
	for _, f := range fields {
		args = append(args, "-e", "rpcrdma2."+f)
	}
	file := capture(t, messages)
	for _, pass := range []string{"-n", "-2"} { // -2: dissect twice, as Wireshark does
		lines := dissect(t, file, append(args, pass)...)
		if len(lines) != len(cases) {
			t.Fatalf("%d lines, expected %d:\n%s", len(lines), len(cases), strings.Join(lines, "\n"))
		}
		for i, c := range cases {
			values := strings.Split(lines[i], "|")
			var got []string
			for k, f := range fields {
				if v := values[k+1]; v != "" {
					got = append(got, f[strings.LastIndex(f, ".")+1:]+"="+v)
				}
			}
			// The second pass adds the number of the reply's packet.
			if text := strings.Join(got, " "); !strings.HasPrefix(values[0], c.info) || text != c.want {
				t.Errorf("%s %s\nfound    %s: %s\nexpected %s: %s", pass, c.hex, values[0], text, c.info, c.want)
			}
		}
	}
}

// A message that ends anywhere is an expert's note, never an error of the script.
func TestTruncated(t *testing.T) {
	var messages []message
	var short []bool
	for _, c := range cases {
		b := unhex(t, c.hex)
		if b[7] != 2 || c.short || c.parts {
			continue
		}
		for n := 16; n < len(b); n += 4 {
			if n == 28 && b[15] == 4 { // the size of an ERR_VERS in the form of version 1
				continue
			}
			messages = append(messages, message{data: b[:n], fromServer: c.fromServer})
			short = append(short, n < c.header)
		}
	}
	lines := dissect(t, capture(t, messages), "-T", "fields", "-E", "separator=|", "-e", xidField, "-e", "rpcrdma2.fault.short")
	if len(lines) != len(messages) {
		t.Fatalf("%d lines, expected %d", len(lines), len(messages))
	}
	for i, line := range lines {
		_, note, _ := strings.Cut(line, "|")
		if strings.HasPrefix(line, "|") || (note != "") != short[i] {
			t.Errorf("%x: found %q, expected that it is short: %v", messages[i].data, line, short[i])
		}
	}
}

// Messages of other versions are left alone: the second word says the version, whatever follows.
func TestOtherVersions(t *testing.T) {
	one := message{data: unhex(t, "0000002a 00000001 00000020 00000000 00000000 00000000 00000000"+call)}
	three := message{data: unhex(t, "0000002a 00000003 00200003 00000000 00000000"+none+call)}
	lines := dissect(t, capture(t, []message{one, three}), "-T", "fields", "-E", "separator=|", "-e", "_ws.col.Protocol", "-e", "rpcordma.xid", "-e", xidField)
	if got, want := strings.Join(lines, " "), "NFS|0x0000002a| DDP/RDMA||"; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
}

// A Send in several segments of DDP is one message.
func TestSegments(t *testing.T) {
	const most = 32 << 10 // bytes of a segment in a capture
	b := append(unhex(t, start+"00000000 00000001"+none+reply), make([]byte, most)...)
	copy(b[most:], unhex(t, start+"00000005 00000000 00000000"))
	lines := dissect(t, capture(t, []message{{data: b, fromServer: true}}), "-T", "fields", "-E", "separator=|", "-e", "iwarp_ddp.mo", "-e", "rpcrdma2.rpcrdma_common.rdma_htype", "-e", "rpc.msgtyp")
	if got, want := strings.Join(lines, " "), "0|| 32768|0|1"; got != want {
		t.Errorf("found %s, expected %s", got, want)
	}
}
