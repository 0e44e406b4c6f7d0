// Package perftest is the other end of the programs ib_send_bw, ib_write_bw and ib_read_bw of
// linux-rdma's perftest 4.5, for the option -R. It runs over a device of package verbs.
//
// No document has perftest's protocol. This package follows its sources: in src the files
// perftest_communication.c, send_bw.c, write_bw.c and read_bw.c.
//
// # Connections
//
// The client opens two connections to the same port. The first carries the messages of the
// protocol, each in a Send of its own. The second carries the data. The server listens for it only
// after the client's first handshake.
//
// # Messages
//
// All messages are exchanged: the client sends one, and the server answers with one of the same
// length. Numbers are big-endian.
//
//	16 bytes  version of the program: text, with zeros behind it
//	 4 bytes  size of the buffer through which the data cycles
//	 4 bytes  size of a cache line
//	 2 bytes  a digit for the MTU, and a zero
//	56 bytes  handshake; then the client connects for the data
//	56 bytes  handshake
//	56 bytes  handshake with the key and the address of the memory: [Memory]
//	56 bytes  handshakes: 3 for ib_send_bw, 2 for the others
//
// Now the client sends, writes or reads the data. Then:
//
//	56 bytes  handshake, not for ib_send_bw
//	 8 bytes  5 times, not for ib_send_bw: message size, messages, and three speeds as doubles
//	56 bytes  handshake
//
// The server ends the data's connection. Then the client ends the other one.
//
// A server of ib_write_bw does not know whether it has received the last Writes: the client
// completes them when they are sent, and the handshake takes the other connection.
//
// # Credit
//
// iWARP has no way to say that no Receive is posted. Therefore the receiver of ib_send_bw writes
// the number of messages that it has received to the sender's memory with an RDMA Write, as a
// little-endian number of 4 bytes, after each third of its Receives. The sender has at most as many
// messages on their way as there are Receives. For the address, the handshakes of ib_send_bw name
// this counter, not the data. InfiniBand and RoCE need no credit: the receiver's device makes the
// sender try again ([Config.NoCredit]).
package perftest
