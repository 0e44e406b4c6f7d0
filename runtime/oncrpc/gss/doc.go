// Package gss is RPCSEC_GSS, version 1 (RFC 2203): calls with proof of the user that makes them,
// whose arguments and results can be protected from changes and from readers. It is a layer of
// messages, between package rpc and a carrier. Its types are generated from spec/x/rpcsecgss.
//
// # Client
//
// A [Carrier] wraps any oncrpc.Carrier, and clients use the Carrier:
//
//	secure, err := gss.NewCarrier(conn, mech, &gss.CarrierConfig{Service: gss.Privacy})
//	defer secure.Close(ctx)
//	files := storerpc.NewClient(secure, nil)
//
// It makes a context with the first call, and another one when the server no longer has it. Calls
// that the carrier sends again after a lost connection get a new sequence number
// (oncrpc.Call.Renew). A call that is submitted has a goroutine, which computes its checksums
// (ADR 0198).
//
// # Server
//
// A [Handler] wraps the Handler of the services, and the reply cache if there is one:
//
//	handler := gss.NewHandler(replycache.New(rpc.NewHandler(nil, svc), nil), mech, nil)
//
// It answers the messages that make and delete contexts. Of each other call it checks the checksum
// of the header before it believes anything in it, then the sequence number, then the arguments. A
// number that was seen is dropped without an answer. In a procedure, [FromContext] returns the name
// of the user. A service of package rpc allows RPCSEC_GSS with any protection, AUTH_SYS and
// AUTH_NONE; [Require] and HandlerConfig.Required demand more.
//
// # Mechanism
//
// The cryptography comes from outside, by the calls of GSS-API (RFC 2743): an [Initiator] or
// [Acceptor], and [Context]. For Kerberos (RFC 4121), a program adapts a library of its choice, or
// libgssapi by cgo. Package gsstest has a mechanism for tests.
//
// # RDMA
//
// Under the service None, the items of messages travel as without RPCSEC_GSS. With Integrity and
// Privacy no item is reduced (RFC 8166 §8.2.2.3): messages are put together, so each READ and WRITE
// is copied at both ends, and calls that came with chunks for items are refused. Credentials,
// verifiers and tokens are never items. The memory offered for replies, and oncrpc.Responder.Room,
// account for what the protection adds.
//
// # Limits
//
// The number of contexts at a server is limited, in total and for each source, and separately for
// those whose client is not authenticated yet: see [HandlerConfig]. A client keeps to the server's
// sequence window: further calls wait.
//
// Version 2 (RFC 5403, channel bindings) is not supported. A server refuses it with
// AUTH_REJECTEDCRED, so clients fall back to version 1.
package gss
