// Package rdmatcp is a verbs provider over TCP. It exchanges RDMA messages in the
// format of draft-williams-rdmatcp-00 and needs no hardware, kernel module or
// privilege.
//
// Package segment implements the format and lists the choices that the draft leaves
// open. A connection profile (profile.go) adds what the format lacks: connection
// set-up, remote invalidation and reasons for closing a connection.
//
// # Use
//
//	dev, err := rdmatcp.Open(nil)
//	ln, err := dev.Listen(ctx, ":20049")      // one side
//	info, err := dev.Dial(ctx, addr, qp, nil) // the other
//
// Device.DialConn and Device.AcceptConn do the same over an existing stream, in the
// middle of its use (R12) or inside TLS. Config.Raw disables the profile.
// docs/rdmatcp.md lists the limits of Config, the attacks that they answer, and the
// attacks that this package does not answer.
//
// # Copies
//
// Payload is either direct or staged. Stats counts the bytes of both.
//
// Direct payload is not copied in user space. It belongs to segments of more than
// StageLimit bytes of payload on a plain TCP connection. One writev sends it from the
// registered region, together with its neighbours; reads place it in the registered
// region. Only bytes that were read ahead after a short segment are copied.
//
// Staged payload is copied once: into a write buffer, so that the goroutine that
// posts can send it without waiting, and out of a read buffer, after its CRC was
// checked. All payload of streams other than plain TCP is staged.
//
// Direct payload is placed while its CRC is computed. If the CRC is wrong, the
// connection ends and the content of the target is undefined, as on any RDMA fabric.
// No completion, message or invalidation is reported before the CRC of its segment
// was found right.
//
// # Path of a Send
//
//	PostSend ──> queued ──> segmented ──> written ──> completed ──> polled
//
// The caller must not change the buffer from PostSend until it has polled the
// completion: in all that time the provider may read it.
//
//	queued     The request waits in the send queue, for those before it.
//	segmented  fill cuts the message into segments and adds them to a batch. It pins
//	           the region to copy a short segment, and keeps the pin of a longer one.
//	written    The socket has taken the batch. All its pins are released.
//	completed  The last segment of the message was written, and all requests before
//	           this one are completed. The completion is in the queue.
//	polled     The buffer belongs to the caller again, and the queue entry is free.
//
// A completed Send was written to the stream: it does not say that the peer has
// received it. A connection that ends flushes the requests that are not completed.
//
// # Goroutines
//
// A connection has a reader, and a writer that is started when it is first needed. The
// device owns all goroutines, and Device.Close waits for them.
//
//   - The reader handles all that arrives. It never waits for the writer.
//   - The writer is the only goroutine that waits until the peer takes data.
//   - A goroutine that posts sends short messages itself while the socket takes them,
//     and leaves a stream of messages to the writer (pump.go).
//
// Notifications run on the goroutine that made the completion, with no lock held. The
// reader runs them before it waits for the stream or for anything else. It delays them
// by at most 64 messages or 256 KiB.
//
// A connection borrows its buffers while there is data in them.
//
// Two ends that read and write at once with full windows both make progress. A Read of
// the peer is a small entry in a list, bounded by the negotiated depth, until the
// writer sends its response. A Send behind it that must not overtake it (§3.4 Order)
// is placed at once and completes later. There is one case in which the reader waits
// for the writer: a Write that must not overtake an earlier Read and overlaps its
// source. Writes of this package do not ask for that order.
//
// # Invalidation during I/O
//
// Invalidate, Deregister and Disconnect wait for system calls that use the memory, not
// for the peer. They interrupt a read or write that waits for the peer. An interrupted
// write copies the rest of its payload and continues. An interrupted read pins its
// target again; if the region is no longer valid, it ends the connection.
//
// # Locks
//
// Locks are taken in this order: connRequest or listener, queuePair, then one of
// soft's CompletionQueue, Domain, Region and Device. A read or write protects its
// regions by pins (soft.Element.Pin), not by a lock, and releases them before it takes
// a lock. A goroutine that holds a lock may therefore wait for pins.
package rdmatcp
