// Package tshark runs Wireshark's tshark over captures, as an oracle for tests: what it shows of a
// packet comes from code that this project has no part in.
//
//	for _, p := range tshark.Parts(t, tshark.Input{File: name}) {
//		if p.Proto == "rpcordma" {
//			xid := p.Number(t, "rpcordma.xid")
//		}
//	}
//
// A test that calls it skips where tshark is not installed; see package witness.
package tshark
