// Package rdmaio carries ONC RPC messages over RDMA: RPC-over-RDMA version 1 (RFC 8166), in both
// directions (RFC 8167), and version 2 (draft-ietf-nfsv4-rpcrdma-version-two-00), over any provider
// of package verbs.
//
// A server passes a Handler to Listen. A client calls Dial for one connection, or NewClient for a
// Client, which replaces lost connections, and makes Calls from any number of goroutines. This
// package does not encode RPC messages. Both sides pass each message as a Message, which an
// xdr.Encoder produces after Reduce. The transport decides by size whether its parts travel inline,
// in chunks or as a long message. Package rpc makes Messages from the types that xdrgen generates.
//
// # A server and a client
//
// Package providers/rdmatcp opens a device that runs over TCP, package providers/mem one for a
// single process. Package runtime/oncrpc encodes the headers of RPC messages.
//
//	dev, err := rdmatcp.Open(nil)
//	...
//	null := func(r *rdmaio.Request) {
//		xid, _, _ := oncrpc.Peek(r.Message)
//		reply, _ := oncrpc.NewReply(xid, oncrpc.Success).AppendBinary(nil)
//		r.Reply(rdmaio.Message{Inline: reply}, nil)
//	}
//	server, err := rdmaio.Listen(ctx, dev, "127.0.0.1:0", rdmaio.HandlerFunc(null), nil)
//	...
//	client, err := rdmaio.NewClient(dev, server.Addr(), nil)
//	...
//	xid := client.XID()
//	call, err := oncrpc.NewCall(xid, prog, vers, proc, oncrpc.None()).AppendBinary(nil)
//	...
//	reply, err := client.Call(ctx, &rdmaio.Call{Message: rdmaio.Message{Inline: call}})
//
// # Bulk data
//
// If a Call does not fit inline, the client offers its items as read chunks. The server reads them
// from the caller's slices to their places in one buffer that holds the whole message. For results,
// the caller passes slices (Call.Results), and the server writes items there from the handler's
// memory. With a provider that registers Go memory, this package copies no byte of an item on the
// way. The provider may copy. Where the caller states the size of the whole reply (Call.WholeReply)
// and both ends take that in one message, small results come inline instead.
//
// # The life of a Call
//
// Time runs downwards.
//
//	caller              its Conn                     peer's Conn              handler
//	  |                    |                              |                      |
//	  |--- Call ---------->| waits for a credit           |                      |
//	  |                    | registers read chunks,       |                      |
//	  |                    | Results, ReplyBuf            |                      |
//	  |                    |--- Send: header, inline ---->|                      |
//	  |                    |                              | waits for memory     |
//	  |                    |<-- RDMA Read of the items ---|                      |
//	  |                    |                              |--- ServeRPC -------->|
//	  |                    |                              |                      |
//	  |                    |                              |<-- Request.Reply ----|
//	  |                    |<-- RDMA Write of results ----|                      |
//	  |                    |<-- Send: reply --------------|                      |
//	  |                    |                              |--- done(nil) ------->|
//	  |                    | invalidates its keys         |                      |
//	  |<-- Reply ----------| (RFC 8166 §4.4.1)            |                      |
//
// Each piece of memory has one owner at a time:
//
//	memory                        owner      from                     until
//	------                        -----      ----                     -----
//	Message, Results, ReplyBuf    Conn       Call is called           Call returns
//	Reply                         caller     Call returns             the Call is used again
//	send buffer (InlineSend)      Conn       the header is encoded    the Send completes
//	Receive buffer (InlineRecv)   provider   it is posted, or lent    a message arrives
//	                              Request    ServeRPC is called       the answer is sent
//	assembly buffer, for chunks   Request    RDMA Read begins         done runs
//	Request.Message, Placed       handler    ServeRPC is called       Reply is called
//	Message of Request.Reply      Conn       Reply is called          done runs
//
// When Call returns, with a reply or an error, its keys no longer give access to the caller's
// memory. The keys of a cancelled Call are redirected to memory of the connection, so that Call
// returns at once and a late access of the peer does no harm. Conn.Call says what happens with a
// device that cannot redirect keys.
//
// # Several connections
//
// A connection's messages are handled one after the other at each end, by one goroutine at a time.
// A Client with ClientConfig.Connections has several, over which its Calls spread: more processors
// take part, more Calls can be in progress, and a long Call keeps fewer others waiting. Each costs
// memory at both ends, and the first Calls on it have one credit only (version 1). The server sees
// each as a separate connection: it authenticates each, its reverse Calls come on the connection
// that it chooses, and a reply cache must identify the client by something other than the
// connection (package replycache does).
//
// # What the two sides negotiate
//
// When a connection is made, each side advertises in the private data of connection management (RFC
// 8797) the largest message that it sends and the largest that it receives inline, and whether it
// wants remote invalidation. Each direction uses the smaller of the two sizes. Remote invalidation
// is on if both sides want it (Config.RemoteInvalidate). With a peer that sends no private data, or
// data that cannot be decoded, both sizes are 1024 bytes and remote invalidation is off. Receives
// of the advertised size are posted before it is advertised. Conn.Terms returns the result.
//
// With remote invalidation a server invalidates one key of a Call, of its choice, together with its
// reply. The client invalidates all others. A peer that invalidates any key that the Call did not
// offer loses the connection (ErrInvalidated), and all Calls in progress on it fail.
//
// # Versions
//
// A connection has version 1 unless Config.Versions has 2 at both ends. The API is the same, and so
// is the address: a server with both versions takes the version of the client's first message.
// Terms has the version of a connection.
//
// A client that prefers version 2 offers it with its first message. Dial returns when the server
// has answered. A server of version 1 refuses it, and the connection continues with version 1. A
// server that does not answer makes Dial fail with ErrNoAnswer after Config.OfferTimeout.
//
// A Client then tries version 1 at once, within the same Call. It does so, too, if the connection
// is lost before the answer or right after the refusal. It begins further connections with version
// 1 for ClientConfig.VersionMemory, or until Client.ForgetVersion. So a network that drops
// messages, for example one that an attacker controls, can force version 1. Leave version 1 out of
// Config.Versions where that matters.
//
// If version 1 is preferred and the server has version 2 only, the server refuses the first Call.
// Conn.Call returns that error; a Client sends the Call again on a connection of version 2. No Call
// is executed twice because of the version: none is sent before the server has answered, and a
// server does not execute what it refuses.
//
// Version 2 changes this for callers and handlers:
//
//   - Sizes. Messages inline have up to 4096 bytes or more. The two ends exchange their sizes, and
//     the largest number and length of segments, in messages of version 2. Conn.SetTerms and
//     package connconf are for version 1.
//   - Continued messages. A Call of at most Config.Continue bytes needs no chunk: it goes in
//     several Sends. So does a reply that has no reply chunk, if it has at most the server's
//     Config.MaxContinued. A reply chunk is offered only for replies longer than Config.Continue.
//     A Call longer than the MaxContinued of the server is refused by PeerErrSystem, and its
//     connection lives. Results have chunks as in version 1, Items if the Call does not go whole.
//   - Refused Calls. If the peer says what it takes instead (PeerErrReadChunks to
//     PeerErrReplyResource), Call sends the message again in another shape, with the same XID,
//     three times at most. The server does not execute it again where only the reply did not fit:
//     it keeps the reply, up to 1 MiB on a connection and 30 s.
//   - Credits are for messages, not Calls, and both directions share them. Config.Credits still
//     limits the Calls in progress. A cancelled Call without a reply counts among those.
//   - Remote invalidation. Each Call names the only key that may be invalidated.
//   - Reverse Calls. The client says whether it serves any: if not, Call fails with ErrReverse.
//     Conn.AllowReverse is needed as in version 1.
//   - Config.Legacy has no effect.
//
// # Both directions
//
// A server may call its clients on the connections that they made: a handler calls Conn.Call on
// Request.Conn. This needs a client with a Config.ReverseHandler, a server with positive
// Config.ReverseCredits, and a call of Conn.AllowReverse on the server when its upper layer knows
// that the client is ready. The transport cannot know that, and a client that is not ready may lose
// the connection. A client without a handler drops reverse Calls.
//
// The two directions share the connection, its Receives, its send queue and the inline sizes. Each
// has its own credits and XIDs, so the same XID in both directions is two RPCs. Calls beyond the
// grant are dropped, so that Calls of one direction never take the Receives of the other
// direction's replies. The send queue is first come, first served across both directions. The peer
// invalidates keys of forward Calls only.
//
// A direction begins with one credit and gets more with the first reply (RFC 8166 §3.3.3). A
// handler that waits for a Call the other way must therefore not run for a connection's first Call:
// the third Call of such a chain would wait for the reply to the first, because each direction
// still has one credit only.
//
// Reverse messages have no chunks unless Config.ReverseChunks is set at both ends. A message that
// does not fit inline fails with a *SizeError on the side that sends it.
//
// A reverse Call is sent once, because the side that listens cannot connect again (RFC 8167 §5.4).
// A Backchannel sends a lost one again on the next connection of the client.
//
// # Extensions
//
// Version 2 can be extended by header types, properties and error codes (Config.Extensions). Their
// numbers and types come from a package that xdrgen generates, their behaviour from an Extension
// in Go. docs/adding-an-extension.md leads from a .x file to messages between two endpoints.
// Package xchar is an extension that resizes Receives while Calls run.
//
// # Host authentication
//
// On connections of version 2 the hosts can authenticate each other before the first Call
// (Config.HostAuth). Conn.Peer has the identity. Package hostauth says what this detects, and
// hostauth/pubkey is a method with keys or certificates. Without a channel binding, which TLS below
// rdmatcp provides, for example, a relay between the hosts is not detected.
//
// # TLS
//
// A device whose provider has a Config.TLS (for example rdmatcp or iwarp) connects and listens over
// TLS. Conn.Peer has the state of the session with the certificates of the peer, also for a Handler
// (Request.Conn). A Call of a Client fails at once with verbs.ErrTLS if the two ends do not agree.
// docs/tls.md has the details.
//
// # Peers of the draft
//
// Config.Legacy supports peers that follow draft-ietf-nfsv4-rpcrdma-08 where RFC 8166 withdrew
// something. If a result fits neither inline nor in the client's chunks, a server then puts it in
// read chunks of the reply. The client reads them and sends RDMA_DONE, and then the done function
// of Request.Reply runs. A client that does not send RDMA_DONE within Config.WorkTimeout loses the
// connection. Both sides accept RDMA_MSGP; the code that decodes the message skips the padding
// (Padding). Without Legacy all of this is refused as RFC 8166 requires, and never sent.
//
// # Observing
//
// Conn.Stats, Client.Stats and Server.Stats return counts. Config.Events is called for each
// connection, Call and Request, and for each fault; the example of Config turns events into
// counters. Config.Logger receives warnings for people. Package verbs/wrap/trace records every
// verb.
//
// # Goroutines
//
// An idle connection has no goroutine. A goroutine that brings an event (a Call, a completion, a
// reply) runs the state machine of the connection, unless another one runs it already: then the
// event is queued for that one. Under constant load the running goroutine hands over to a new one,
// which ends when the queue is empty. A Call that is made while others are in progress first yields
// the processor, so that messages of several callers are posted together.
//
// If a Call is alone on its connection and has no chunks of data, its caller does the work of the
// provider's goroutine while it waits, if the provider can do that (verbs.Progresser). This saves
// waking another goroutine. The caller hands over after 2 ms at most, or when it has the reply and
// other Calls are in progress.
//
// Each handler call has a goroutine, but marked procedures (oncrpc.NonBlocker) of a connection run
// one after the other on one, until one of them waits. An idle goroutine is kept for one to two
// seconds, to run another handler call. A server runs Config.MaxHandlers handlers at a time, and
// one more for each connection; further Requests wait in a queue. With Config.NonBlocking a
// handler runs on the goroutine that received the Call and must not block. A server has one
// goroutine that accepts connections, one that frees memory of idle ones, and one for each
// connection. Conn.Close and Server.Close wait for all of these. Server.Shutdown lets handlers
// answer their Calls first.
//
// A Call that is submitted (Conn.Submit) needs no goroutine to wait for a credit and its reply. Its
// done function runs on a goroutine of the connection, which does nothing else then: over a
// provider with DeviceAttributes.ReaderNotifies, the one that reads what the peer sends.
package rdmaio
