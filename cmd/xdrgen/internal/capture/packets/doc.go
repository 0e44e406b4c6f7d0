// Package packets reads captured packets: the files of pcap and pcapng, and the layers below RPC.
//
//	r, err := packets.NewReader(file)
//	var layers packets.Layers
//	for {
//		p, err := r.Next()
//		...
//		if d, ok := layers.Decode(p); ok { ... } // a TCP segment or a UDP datagram
//	}
//
// A file is read as a stream. The memory for it does not depend on its size: one packet, a few
// bytes for each interface, and fragments of at most 64 IP packets. Nothing is allocated for a
// length before the bytes are there.
package packets
