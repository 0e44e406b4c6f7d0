// Package tcp carries ONC RPC messages over TCP, or any other stream, with record marking (RFC 5531
// §11). It is a carrier of package oncrpc, as rdmaio is over RDMA: clients and handlers of package
// rpc work over both.
//
//	server, err := tcp.Listen(ctx, ":2049", rpc.NewHandler(nil, svc), nil)
//	...
//	client, err := tcp.NewClient("garden:2049", nil) // connects on demand
//	files := rpc.NewClient(client, program, nil)
//
// # Calls
//
// Any number of Calls are in progress on a connection, up to Config.MaxCalls. Replies come in any
// order. A Call whose context is done leaves the queue if it was not sent; Call returns at once,
// and the error says whether the server may execute it. A Call of a [Client] whose connection is
// lost is sent again on the next one with the same XID, ClientConfig.Retransmits times at most. A
// [Backchannel] does the same for the Calls of a server to a client.
//
// A Client whose first connection fails returns the error to the Calls that wait, because the
// address may be wrong, unless ClientConfig.WaitForServer is set. Once it was connected, Calls wait
// until it is again. ClientConfig.DialFailures is another choice for both. Each failure is logged.
//
// # Calls without a goroutine each
//
// Conn, Client and Backchannel are oncrpc.Submitters. A Call that is submitted is a record in
// memory until its done function runs, on the goroutine that reads the connection. Calls beyond
// Config.MaxCalls wait in their order. All that done functions submit while the replies of one read
// are handled leaves in one write.
//
//	done = func(reply *oncrpc.Reply, err error) {
//		... // use the reply
//		err = client.Submit(ctx, call, done) // the next one
//	}
//
// # Several connections
//
// A connection's records are read by one goroutine at each end. A Client with
// ClientConfig.Connections has several, over which its Calls spread: more processors take part, and
// a long reply keeps fewer others waiting. The server sees each as a separate connection: its
// reverse Calls come on the connection that it chooses, Config.MaxPerSource counts each, and a
// reply cache must know the client by something else than the connection (package replycache does).
//
// # Messages
//
// Items of a message are not copied: the system reads them from the caller's memory. Call.Results
// and MaxReply have no effect. A reply that fits Call.ReplyBuf is copied there.
//
// # Requests
//
// Each Request has a goroutine, so that a slow handler holds no other Call, unless its procedure
// is marked (oncrpc.NonBlocker) or Config.NonBlocking is set. A marked one runs on the goroutine
// that reads, if no earlier Request waits for a place and there is memory for its reply at once;
// after 64 in a row the replies are written and other connections are read. A marked procedure
// that runs for a second or two is logged once: another goroutine reads from then on, and the
// procedure has a goroutine for each Call. While it runs, its context is cancelled by Close, and
// not by the caller or the loss of the connection, which are not read. A server runs
// Config.MaxHandlers goroutines at a time, and one more for each connection. With
// Config.MaxRequests unanswered, a connection takes no more until one is answered. It still
// notices the end of the stream: on Linux at once, elsewhere unless the client sent more than 16
// KiB ahead.
//
// A client may close its direction of the stream after its last Call and continue to read: it gets
// all replies. The server cannot distinguish it from one that has gone, unless the connection is
// reset. So each reply may take Config.PeerTimeout after the one before. Then the connection is
// closed and Request.Context is done. A Conn that is closed while it waits for replies resets its
// connection, which ends Request.Context at once. A stream over something else
// than a socket, as a pipe, has 100 ms for each reply.
//
// A handler may call the client on Request.Conn after AllowReverse. While such Calls are in
// progress, the connection must keep reading, because the reply comes on it, and is closed if the
// client exceeds its limits.
//
// # Limits
//
// The peer decides what arrives, and when. A record has at most Config.MaxRecord bytes in at most
// Config.MaxFragments fragments, empty ones included. Its memory follows the bytes that have
// arrived: 64 KiB at first, then at most 3 times as much as came. A record that makes no progress
// for Config.RecordTimeout closes the connection, as does a peer that reads nothing for
// Config.SendTimeout. Config also limits the number of connections: in total, per source and per
// second.
//
// A server starts a handler when it has memory for the reply: for its bound, if the Handler knows
// one (oncrpc.Bounder), as package rpc does for results of limited size and by Service.MaxReply.
// Handlers without a bound share a third of Config.MaxMemory, so that few of them run at a time,
// five by default: see Config.MaxReply. Memory that a handler takes for itself is not counted.
//
// # Local sockets
//
// Dial, NewClient and Listen also take the address of a local stream socket (AF_UNIX): "unix:" and
// a path that contains a slash, as in "unix:/run/notes.sock" or "unix:./notes.sock", or on Linux
// "unix:@" and an abstract name. The records are the same.
//
// Listen makes the file with the permissions of Config.SocketMode, by default for its own user
// alone. It replaces the socket that a killed server has left, but neither a file that is not a
// socket nor the socket of a server that listens. Close removes the file. An abstract name has no
// file and no permissions: every process of the network namespace can connect.
//
// On Linux the system says which process is at the other end: oncrpc.Peer.Local has its user, which
// no credential of AUTH_SYS proves. A handler compares the two, or ignores the credential. The loss
// of the process is noticed at once. Conn.Probe does nothing, and Config.MaxPerSource counts all
// local clients together.
//
// # TLS
//
// With Config.TLS, connections have RPC-with-TLS (RFC 9289). Each begins in plaintext. The client's
// first Call, a probe with the flavour AUTH_TLS, asks for TLS. The handshake follows on the same
// connection, and Calls in both directions then go over TLS. Conn.Peer returns the certificates of
// the peer, which identify its host and no user. Handlers never see the flavour AUTH_TLS.
//
// The probe costs a round trip, and the handshake another. Plaintext after the probe closes the
// connection. A handshake that fails is an ErrTLS, and never leads to plaintext. Over a stream that
// NewConn gets, there is no probe.
package tcp
