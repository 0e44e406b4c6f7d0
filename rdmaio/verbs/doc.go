// Package verbs is the interface between the transport and whatever moves
// its bytes. It speaks libibverbs' words: a Device gives ProtectionDomains
// and CompletionQueues, memory is registered in a domain, QueuePairs post
// work requests, completions are polled. Providers (in memory, RDMA framed in
// TCP, iWARP, Linux kernel verbs) implement it; package verbstest is the
// acceptance suite each of them passes; package wrap/trace shows what passes
// through it, package wrap/fault makes it go wrong. It covers reliable connected queue pairs only
// (draft-ietf-nfsv4-rpcrdma-08 §2; R1, R7) and imports the standard library only.
//
// # Life of a connection
//
//	pd, _ := dev.AllocPD()
//	cq, _ := dev.CreateCQ(256, notify)
//	qp, _ := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 128, MaxRecvWR: 128})
//	qp.PostRecv(...)                                  // before the peer can send
//	info, err := dev.Dial(ctx, addr, qp, params)      // or: req, _ := ln.Accept(ctx); req.Accept(ctx, qp, params)
//	qp.PostSend(...)                                  // and cq.Poll, cq.Arm
//	qp.Disconnect()                                   // all that is outstanding completes with StatusFlushed
//	qp.Close(); mr.Deregister(); cq.Close(); pd.Close(); dev.Close()
//
// # Who owns which memory, when
//
// Slices of work requests and their scatter/gather lists belong to the caller:
// a post copies what it needs before it returns, and keeps no reference.
//
// The bytes that a work request names belong to the provider from the post
// until that request is known to be complete: its completion was polled,
// whatever its status; or, for an unsignaled request, the completion of any
// request posted later to the same send queue was polled; or the queue pair's
// Close returned. Until then the bytes of a Send or Write must not change, and
// those of a Receive or Read must not be touched at all.
//
// The bytes of a region with remote rights may in addition be read or written
// by the peer, at any time, from the moment its key leaves this host until
// Invalidate or Deregister returned, a LocalInvalidate completed, a Receive
// reported the key as invalidated, or every queue pair of the domain is in
// StateError and its QPConfig.Notify ran (or Close returned). Cancelling a
// wait changes nothing about it.
//
// # Order
//
//   - Sends consume the peer's Receives one each, in the order posted (R2).
//   - Bytes of a Write are in place before the completion of a Send posted later
//     on the same queue pair is visible at the peer (R4). Among Writes no
//     order is promised (R5), nor when they become visible without a Send.
//   - A Read completes at its initiator only; the peer's processor is not told (R6).
//     A request posted after a Read may run before it, unless it is Fenced.
//   - The completions of one send queue come in post order, those of one receive
//     queue too; between the two, and between queue pairs, there is no order.
//   - Between a Write and a Read of the same bytes no order is promised, whichever
//     was posted first: wait for the first one's completion if it is the Read, or
//     for the peer's answer to a Send behind it if it is the Write.
//   - A successful completion of a Read or Receive says that all its bytes are there.
//   - A successful completion of a Send or Write says that the bytes are the
//     caller's again, not that the peer has them: over iWARP it comes when the
//     stream took them. Only a message from the peer proves delivery.
//
// # Errors
//
// What can be seen when a request is posted is refused by the post (see
// QueuePair.PostSend) and changes nothing. What goes wrong later breaks the
// connection, at both ends: the request concerned completes with its status
// where the provider can tell (a peer's refusal may come after a Send or Write
// already completed), all others with StatusFlushed, each exactly once. Nothing
// is truncated, dropped or retried in silence (R3, R8, R9).
//
// # Concurrency
//
// All methods may be called from several goroutines at once, Close too: who is
// late gets ErrClosed, at a queue pair ErrInvalidState. Requests of one
// post stay together and in order; the order of concurrent posts is not defined.
// Methods with a context argument wait for the peer, and end with the context's
// error when it ends first. Close, Disconnect,
// Invalidate and Deregister wait for the end of a copy in progress, Alloc and
// registration for the system to find and pin memory. Everything else
// returns at once.
package verbs
