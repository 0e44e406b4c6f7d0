// Package pcapng writes TCP connections as pcapng files for Wireshark and tshark, without a
// network: the packets are made up, with valid lengths, numbers and checksums.
//
//	file := pcapng.NewFile(w, 0)
//	conn = pcapng.Record(conn, pcapng.Recording{File: file, Name: "client", Initiator: true})
//	... // use conn
//	err := file.Err()
//
// Record keeps the bytes of a net.Conn. A Connection takes bytes from any other source.
package pcapng
