// Package rdmatcp is a verbs provider over TCP: RDMA messages in the format of
// draft-williams-rdmatcp-00, with no need for hardware, kernel modules or
// privileges. Package segment is the format itself, and says what the draft
// leaves open and how it is decided here; profile.go has what the format lacks:
// connection set-up, invalidation by the peer, reasons for the end.
//
// # Use
//
//	dev, err := rdmatcp.Open(nil)
//	ln, err := dev.Listen(ctx, ":20049")      // one side
//	info, err := dev.Dial(ctx, addr, qp, nil) // the other
//
// DialConn and AcceptConn do the same over a stream that exists already, in the
// middle of what it was used for (R12) or inside TLS. Config.Raw leaves the
// profile out. docs/rdmatcp.md has the limits of Config at a glance, the attacks
// that they answer, and those that are not answered.
//
// # Copies
//
// On a plain TCP connection the payload of a segment longer than StageLimit goes
// from the registered region to the socket by one writev together with its
// neighbours, and from the socket into the registered region, with no copy in
// between; at most the read-ahead that followed a short segment is copied.
// Shorter payload is copied: out, so that one who posts can send it himself
// without waiting; in, so that its CRC is checked before a byte is placed. On
// other streams all is copied. Stats counts both.
//
// Long payload is placed while its CRC is computed. If that is wrong the
// connection ends and the target's content is undefined, as on any RDMA fabric;
// no completion, Send or invalidation comes of a segment before its CRC was
// right.
//
// # Goroutines
//
// A connection has a reader, which owns all that arrives and never waits for the
// writer; and a writer as soon as there is something for it, the only one to wait
// for the peer to read. Who posts sends short messages himself while the socket
// takes them, and leaves a stream of them to the writer (pump.go). The device
// owns all goroutines, and Device.Close joins them. Notifications run on
// whichever of these made the completion, with no lock held; the reader notifies
// before it waits for the stream or anything else, of all that it placed since it
// last did, but of no more than 64 messages or 256 KiB. Buffers are lent to
// a connection while something is in them.
//
// So two ends that write and read at once with full windows both make progress:
// a Read of the peer is a small entry in a list, bounded by the agreed depth, until
// the writer sends its answer, and a Send behind it that must not overtake it
// (§3.4 Order) is placed at once and completes later. One case waits: a Write that
// must not overtake an earlier Read and overlaps its source. This package sends
// Writes without that demand.
//
// # Memory that is wanted back
//
// Invalidate, Deregister and Disconnect wait for the end of a read or write that
// touches the memory, not for the peer: one that waits for the peer is
// interrupted, keeps a copy of what it had to send, and goes on, or finds that
// the region it was placing into is gone and ends the connection.
//
// # Locks
//
// Order: connRequest or listener, queuePair, then one of completionQueue,
// protectionDomain, memoryRegion, Device. A read or write holds its regions by a
// count (element.pin), not by a lock, and lets go of them before it takes any
// lock: so one who holds a lock may wait for the count.
package rdmatcp
