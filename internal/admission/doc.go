// Package admission decides what a server takes from its peers, so that no peer can use up what all
// share. Servers over TCP, UDP and RDMA use it, and providers of verbs for their handshakes. It
// imports the standard library only.
//
//	a connection    Conns, Bucket    how many in all, by source, and in a second
//	a Request       Places           how many handlers run at a time, in all and by connection
//	memory          Budget           how many bytes, in all and by connection
//	a log line      LogLimit         how many in a second
//
// What asks never blocks. The answer is yes, no, or later: then admission calls when it is time.
// Places runs a Request that had to wait, and Budget calls the Waiter that was passed to it. The
// only function that waits is Places.Leave, at the end of a connection.
package admission
