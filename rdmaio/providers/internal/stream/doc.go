// Package stream is the common part of the providers over a byte stream: all that does not depend
// on the format of their frames. Package rdmatcp uses it for the format of
// draft-williams-rdmatcp-00.
//
//	provider   public Config, Open, Stats; the format of frames, in its own packages
//	    │ Config.Framing, Framer
//	    ▼
//	stream     Device, listener, Dial      connections, limits, set-up, log
//	           queuePair                   posts, Disconnect, Close
//	           reader                      frames that arrive: read, check, place, carry out
//	           sender                      the token and its batch: when frames are written
//	           queues                      order of requests, completions, the end
//	           Conn, batch                 read-ahead, writes of many frames, deadlines
//	    │
//	    ▼
//	soft       domains, regions, keys, completion queues, checks, pins
//
// # What a provider supplies
//
//	Framing    sets a connection up: as the initiator (Connect), or as the responder (Receive,
//	           which returns an Offer). It returns a Session: the negotiated numbers, the Framer
//	           and the checksum.
//	Framer     makes and reads the frames of one connection.
//	Shape      sizes of the format
//
// A provider has its own public structs Config, Stats and Device, and converts them.
//
//	Framing.Connect ──> Session ──┐
//	                              ├──> queue pair connected, Framer in use ──> LastBytes
//	Framing.Receive ──> Offer ────┘
//	                     ├─ Accept ──> Session
//	                     └─ Reject, Refuse: bytes, then the stream is closed
//
// # Frames sent
//
// The goroutine with the token fills a batch, with the lock held: a frame of the oldest request
// that is not sent, a frame of the oldest response, and so on in turn.
//
//	Begin ──> Next ──> payload pinned ──> PutRequest ──┬──> Next ... last frame ──> next request
//	          NextResponse ─────────────> PutResponse ─┘
//
// With Shape.Whole, all frames of a message come before the next message's.
//
// The batch adds payload, padding and the checksum. A fence, the depth of Reads, LocalInvalidate
// and the order of completions are the concern of the queue pair.
//
// # Frames received
//
// The reader handles one frame after the other:
//
//	HeaderSize ──> Decode ──> Accept ──> target ──> Control ──┐
//	                          locked     locked               │
//	┌─────────────────────────────────────────────────────────┘
//	├── staged: read, sum checked, placed ──┐
//	└── direct: placed, sum checked ────────┴──> Observe ──> effect: Deliver, Ended
//	                                                         locked
//
// With Shape.SumFirst, a staged frame is awaited as a whole, and its sum checked, before
// HeaderSize.
//
// No byte is placed before Accept and the checks of the target have succeeded, and nothing is
// reported before the checksum was found right. The target of a Send is the oldest free Receive,
// from its frame with Begin to that with End; other frames may come between them. The target of a
// Write is a range that the Framer names, at the first frame or at every one (Frame.Check). The
// target of a Read Response is the oldest Read.
//
// A response is sent to the sink that the Read Request names. The sink of this side's Reads can
// be any key that names no region (Conn.SpareKey), because the Framer recognizes the response.
//
// # The end
//
// A queue pair fails with the first error, with Disconnect, or when the peer closes the stream.
// Then reads and writes in progress return, all requests are flushed, and the reader sends what
// LastBytes returns and closes the stream. A frame of KindReport is the same from the peer.
//
// # Copies
//
// Payload is either direct or staged. Direct payload is not copied in user space: one writev sends
// it from the registered region together with its neighbours, and reads place it in the registered
// region. Staged payload is copied once: into a write buffer, so that the goroutine that posts can
// send it without waiting, and out of a read buffer, after its checksum was checked.
//
// Payload of a frame is direct if it has more than Shape.StageSend bytes, or Shape.StageReceive
// bytes, and the stream is plain TCP. Bytes that were read ahead are copied in any case. All
// payload of other streams is staged.
//
// # TLS
//
// With Config.TLS, the stream of Dial and Listen is a tlsstream.Conn (ADR 0054). Its handshake runs
// where the set-up of the framing runs, in the same time: in a separate goroutine for each
// connection of a listener. The framing sees a stream and does not know of TLS.
//
//	encrypt  The goroutine with the token makes the records of a batch from the registered
//	         memory, which is then unpinned. tlsstream holds them.
//	flush    All records are written together.
//	read     tlsstream returns whole records during the handshake, and anything after that. The
//	         payload of a long frame is decrypted and copied to its target.
//
// The device closes the socket below TLS, so no Close waits for a peer. Only hangup announces the
// end of the stream to TLS, and Device.Close waits for that a short time.
//
// # Path of a Send
//
//	PostSend ──> queued ──> framed ──> written ──> completed ──> polled
//
// The caller must not change the buffer from PostSend until it has polled the completion: in all
// that time the provider may read it.
//
//	queued     The request waits in the send queue, for those before it.
//	framed     fill cuts the message into frames and adds them to a batch. It pins the region to
//	           copy staged payload, and keeps the pin of direct payload.
//	written    The socket has taken the batch. All its pins are released.
//	completed  The last frame of the message was written, and all requests before this one are
//	           completed. The completion is in the queue.
//	polled     The buffer belongs to the caller again, and the queue entry is free.
//
// A completed Send was written to the stream: it does not say that the peer has received it. A
// connection that ends flushes the requests that are not completed.
//
// # Goroutines
//
// A connection has a reader, and a writer that is started when it is first needed. The device owns
// all goroutines, and Device.Close waits for them.
//
//   - The reader handles all that arrives. It never waits for the writer. A caller of
//     queuePair.Progress takes its place for short messages (turn.go).
//   - The writer is the only goroutine that waits until the peer takes data.
//   - A goroutine that posts sends staged frames itself while the socket takes them, and leaves a
//     stream of messages to the writer (pump.go).
//
// Notifications run on the goroutine that made the completion, with no lock held. The reader runs
// them before it waits for the stream or for anything else. It delays them by at most 64 frames or
// 256 KiB.
//
// A caller in the reader's place handles only frames that are at hand as a whole, and hands the
// turn back before all that may wait: parts of frames, parts of messages, long frames, Reads in
// either direction, a Send without a Receive. So it waits between two frames only, where an
// interrupt loses no byte.
//
// A connection borrows its buffers while there is data in them.
//
// When both sides read and write at once with full windows, both make progress. A Read of the peer
// is a small entry in a list, bounded by the negotiated depth, until the writer sends its response.
// A later Send that must not overtake it (Receiver.Waits) is placed at once and completes later.
// There is one case in which the reader waits for the writer: a Write that must not overtake an
// earlier Read and overlaps its source.
//
// # Invalidation during I/O
//
// Invalidate, Deregister and Disconnect wait for system calls that use the memory, not for the
// peer. They interrupt a read or write that waits for the peer. An interrupted write copies the
// rest of its payload and continues. An interrupted read pins its target again; if the region is no
// longer valid, it closes the connection.
//
// # Locks
//
// Locks are taken in this order: connRequest or listener, queues, then one of soft's
// CompletionQueue, Domain, Region and Device. A read or write protects its regions by pins
// (soft.Element.Pin), not by a lock, and releases them before it takes a lock. A goroutine that
// holds a lock may therefore wait for pins.
package stream
