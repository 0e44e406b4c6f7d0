// Package verbs is the interface between the transport and the providers that move its
// bytes. It uses the words of libibverbs: a Device creates ProtectionDomains and
// CompletionQueues, memory is registered in a domain, QueuePairs post work requests, and
// completions are polled.
//
// Providers implement the interface: in memory, RDMA framed in TCP, iWARP, and rdma-core
// for RDMA hardware. Package verbstest is the acceptance suite that each of them passes. Package
// wrap/trace records the calls and completions of another provider, and package wrap/fault
// injects faults. The interface covers reliable connected queue pairs only
// (draft-ietf-nfsv4-rpcrdma-08 §2; R1, R7). It imports the standard library only.
//
// # Life of a connection
//
//	pd, _ := dev.AllocPD()
//	cq, _ := dev.CreateCQ(256, notify)
//	qp, _ := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 128, MaxRecvWR: 128})
//	qp.PostRecv(...)                                  // before the peer can send
//	info, err := dev.Dial(ctx, addr, qp, params)      // or ln.Accept, and Accept of the request
//	qp.PostSend(...)                                  // and cq.Poll, cq.Arm
//	qp.Disconnect()                                   // flushes outstanding requests
//	qp.Close(); mr.Deregister(); cq.Close(); pd.Close(); dev.Close()
//
// # Ownership of memory
//
// Work request slices and their scatter/gather lists belong to the caller. A post copies what it
// needs before it returns, and keeps no reference.
//
// The bytes that a work request names belong to the provider from the post until the request
// is complete for the caller. That is when one of these has happened:
//
//   - its completion was polled, whatever its status;
//   - the request is unsignaled, and the completion of a request posted later to the same
//     send queue was polled;
//   - the queue pair's Close has returned.
//
// Until then the caller must not change the bytes of a Send or Write, and must neither read nor
// change the bytes of a Receive or Read.
//
// In addition, the peer may access the bytes of a region with remote rights at any time
// from the moment at which its key leaves this host. That ends when one of these has
// happened:
//
//   - Invalidate or Deregister has returned, or Revoke has reported its end (Revoker);
//   - a LocalInvalidate has completed;
//   - a Receive has reported the key as invalidated;
//   - every queue pair of the domain is in StateError, and its QPConfig.Notify has run or
//     its Close has returned.
//
// Canceling a wait does not change the ownership of memory.
//
// # Order
//
//   - Sends consume the peer's Receives one each, in the order posted (R2).
//   - Bytes of a Write are in place before the completion of a Send posted later on the
//     same queue pair is visible at the peer (R4). There is no order among Writes (R5),
//     and no promise when they become visible without a Send.
//   - A Read completes at its initiator only; the peer's processor is not notified (R6). A
//     request posted after a Read may run before it, unless it has SendFence.
//   - A send queue's completions come in the order of the posts, and so do a receive queue's. There
//     is no order between the two, or between queue pairs.
//   - There is no order between a Write and a Read of the same bytes, whichever was posted
//     first. If the Read is first, wait for its completion. If the Write is first, wait for the
//     peer's response to a later Send.
//   - A successful completion of a Read or Receive means that all its bytes are in place.
//   - A successful completion of a Send or Write means that the bytes belong to the caller
//     again. It does not mean that the peer has them: over iWARP it comes when the stream
//     has taken them. Only a message from the peer proves delivery.
//
// # Errors
//
// A post refuses requests whose errors it can detect (see QueuePair.PostSend). That has no
// other effect. A later error breaks the connection at both ends. The request that caused it
// completes with its status, if the provider knows which one it is: a peer's refusal may come after
// a Send or Write has completed. All others complete with StatusFlushed. Each request completes
// exactly once. No message is truncated, dropped or retried silently (R3, R8, R9).
//
// # What devices do differently
//
// Providers without hardware obey all rules to the letter. Devices do not, and where a provider
// cannot hide that, DeviceAttributes says so: PaddedPrivateData, GuessableKeys and
// InvalidateWindowsOnly. On any device a caller must expect that
//
//   - the reason of an end is unknown, or another one than the real one (QueuePair.Err);
//   - a Send that finds no Receive fails, at once or after retries of the device, or completes with
//     success before the connection breaks;
//   - Writes that are posted one after another become visible at the peer in any order, but all of
//     them before the Receive of a later Send;
//   - a registration takes milliseconds, and fails because this process or device is at a limit;
//   - a region that the peer may invalidate is invalid although no completion has reported that.
//     Invalidate then succeeds.
//
// Package wrap/fault has a switch for each, so that callers can be tested without hardware.
//
// # Concurrency
//
// All methods may be called from several goroutines at once, Close included. A call on a
// closed object returns ErrClosed, and on a closed queue pair ErrInvalidState. The requests
// of one post stay together and in order; the order of concurrent posts is undefined.
//
// Methods with a context wait for the peer, and return the context's error if it ends
// first. Close, Disconnect, Invalidate and Deregister wait for the end of a copy in
// progress. Alloc and registration wait for the system to find and pin memory. All other
// methods return at once.
package verbs
