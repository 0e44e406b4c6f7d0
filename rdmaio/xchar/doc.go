// Package xchar is the transport characteristics extension of RPC-over-RDMA version 2
// (draft-dnoveck-nfsv4-rpcrdma-xcharext-01). Each endpoint of a connection describes itself: the
// size of its Receives, whether responders may invalidate its memory remotely, and its support of
// backward requests. Each may request changes of the other's characteristics during the
// connection. The extension is off by default.
//
// [Extension] is for Config.Extensions of package rdmaio, and [Of] returns the [Conn] of a
// connection, which requests and makes changes. [Endpoint] is one side as a state machine without
// I/O, locks and clock. The connection passes messages in and carries out the [Effects] that it
// gets back.
//
// # States
//
// Each of an endpoint's three characteristics is in one of four [State] values:
//
//	         INIT, no change                  REQ
//	fixed <------------------- settled --------------------> requested
//	                             ^ ^                           |   |
//	                             | |   RESP done or rejected   |   | RESP pending
//	                             | +---------------------------+   |
//	                             |     error, faulty RESP          v
//	                             +------------------------------ pending
//	                                      UPD with clear
//
// The endpoint that requests a change sees all four, with [Endpoint.PeerState]. The other endpoint
// answers at once, so that its own characteristics are never in state requested:
// [Endpoint.OwnState]. A UPD without the clear flag changes the value in any state but fixed, and
// leaves the state.
//
// # Receive size
//
// An endpoint announces a larger receive size only after its older, smaller Receives are consumed
// (section 3.1). It answers a request for one with pending, and [Endpoint.ReceivesReplaced]
// announces the size. On an idle connection no Receive is consumed, and the request stays pending.
//
// An endpoint reduces its receive size only on request of its peer. From the request on, the peer
// sends no larger message: [Endpoint.SendLimit]. Larger messages that it sent before arrive
// before the request, in the Receives that they were sent for. The connection must therefore send
// the request after them, and send no larger message after the request.
//
// # Choices where the document is silent
//
//   - The operations travel in the header type of package xcharcarrier, with a number outside 0 to
//     13. An unknown operation is answered with error 3, INVAL_HTYPE in version 2 (A12).
//   - Characteristic ids have their own number space. The extension adds to the CONNPROP message of
//     version 2: the receive size of an INIT replaces the one of CONNPROP.
//   - Data of zero length are an error, not a default. A set with one bad value, or with a
//     characteristic twice, is refused as a whole with BAD_XDR (A14, A33).
//   - A UPD or RESP that would change a characteristic that its owner declared fixed is not
//     applied, counted, and not answered (R255). A second INIT likewise.
//   - A faulty RESP (overlap, gap, bits without an element, bad XDR) is not applied, and its
//     request counts as rejected (R246, R256). No error message answers it, because a requester
//     sends none (R193).
//   - A UPD with the clear flag completes the oldest pending request for its characteristic. A
//     request that is not answered yet is not pending.
//   - As owner, an Endpoint has at most one pending request for each characteristic. A later
//     request that is not rejected replaces it: a UPD with an unchanged value completes the earlier
//     one first.
//   - A REQ of more than [MaxElements] values is answered with error 10, SYSTEM, because its RESP
//     might not fit the peer's Receives.
package xchar
