// Package rdmaio carries ONC RPC messages over RDMA: RPC-over-RDMA version 1
// (RFC 8166), in both directions (RFC 8167), over any provider of package verbs.
//
// A server passes a Handler to Listen. A client Dials and makes Calls, from as many goroutines
// as it likes. Neither side encodes RPC here: both pass messages as a Message, which
// is what generated XDR code makes with an xdr.Encoder in reducing mode, and the transport
// chooses between inline bytes, chunks and long messages by what fits.
//
// # Bulk data
//
// An item of a Call that does not fit inline is offered as a read chunk: the
// server fetches it from the caller's slice to its place in one buffer that has
// the whole message. For results the caller passes slices (Call.Results), and the
// server puts items there straight from the handler's memory. With a provider
// that registers Go memory no byte of them is copied by the processor on the way
// between the two, but for what the provider itself does.
//
// # What the two sides agree on
//
// When a connection is set up each side tells the other how large a message it sends
// and takes inline, and whether it is for the end of keys by replies, in the
// private data of connection management (RFC 8797). What holds is in Stats: each
// way the lesser of the two sizes, and Config.RemoteInvalidate if both are for it. With a
// peer that tells nothing, or nothing that can be understood, 1024 bytes, and every
// side ends its own keys. Receives of the size told are posted before it is told.
//
// A server then ends one key of a Call, of its choice, together with its reply; the
// client ends all others. A peer that ends any other key than one that it was
// given for the very Call loses the connection (ErrInvalidated), and all Calls
// in progress on it fail.
//
// # Both directions
//
// A server may call its clients, on the connection that they made: Conn.Call on its end, which a
// handler has by Request.Conn. Three things have to be there. The client has a
// Config.ReverseHandler. The server has positive Config.ReverseCredits. And its upper layer
// has said, by Conn.AllowReverse, that the client is ready: nothing in the transport tells,
// and a client that is not may lose the connection. A client without a handler drops such Calls.
//
// The two directions share the connection, its Receives, its send queue and the inline sizes, and nothing
// else. Each has credits and XIDs of its own: the same XID in both is two RPCs. Calls beyond what
// was granted are dropped, so that however many come of one kind the Replies of the
// other find their Receives; and what is to be sent goes in the order in which it was asked for, so that neither
// direction waits for more of the other than was there before it. Keys are ended by the peer for forward Calls only.
//
// A direction begins with one Call, and has more at a time only when the Reply to it told how many (RFC 8166 §3.3.3). So a chain of
// handlers that each wait for a Call the other way must not begin with the first Call of a
// connection: the third would wait for the Reply to the first.
//
// Reverse messages have no chunks unless Config.ReverseChunks is set at both ends: what does not fit
// inline is a *SizeError where it is sent.
//
// A reverse Call is sent once. The side that listens cannot connect anew (RFC 8167 §5.4), so one that was lost can only
// be sent again on the next connection that this client makes.
//
// # Peers of the draft
//
// Config.Legacy is for peers that follow draft-ietf-nfsv4-rpcrdma-08 in what RFC 8166 took back. A server then puts a
// result that fits neither inline nor in what the client offered into read chunks of the reply; the
// client reads them and says RDMA_DONE, and the handler's memory comes back then (Request.Reply's done). A client
// that says nothing for Config.WorkTimeout loses the connection. Both take RDMA_MSGP, whose padding the decoder of
// the message skips (Padding). Without the switch all that is refused as RFC 8166 has it, and nothing of it is ever sent.
//
// # Whose memory
//
// Everything a Call names belongs to the transport while Conn.Call runs, and is
// the caller's again when it returns, whatever it returns: keys are invalidated first (RFC 8166 §4.4.1), and those of
// a cancelled Call made to stand for other memory. So a cancelled context ends the wait at once, and a late access of
// the peer reaches neither the caller's data nor the end of the connection, where the device can do so (see Conn.Call).
// What a Request shows, and what its answer names, belongs to the other side
// until the done function of Request.Reply ran.
//
// # Seeing what happens
//
// Stats of a Conn, Client and Server are counts; Config.Events is told of each connection, Call and Request, and of what goes
// wrong, as it happens (the example of Config makes counters of it); Config.Logger gets what a person may want to
// know. Every single verb is seen by package verbs/wrap/trace.
//
// # Goroutines
//
// A connection has none that stays. Whoever has an event (a Call, a completion, a
// reply) runs the connection's state machine if nobody does, else leaves the event to
// the one who does; under constant load that one hands over, after a while, to a goroutine
// that ends when there is nothing left to do. A Call made while others are in progress lets other goroutines
// run first, so that what several callers bring goes out together.
//
// A handler has a goroutine, as many as Config.MaxHandlers for a server and one more for each connection; further Requests
// wait in a queue. With Config.NonBlocking the handler runs on the goroutine that received the Call, and must not wait. A server has
// one goroutine that accepts, and one for each connection that waits for
// its end. Conn.Close and Server.Close join them all; Server.Shutdown lets the Calls that handlers have be answered first.
package rdmaio
