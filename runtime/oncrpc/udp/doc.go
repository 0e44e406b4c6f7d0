// Package udp carries RPC messages in UDP datagrams (RFC 5531 §10), one in each: the network of old
// clients, MOUNT and rpcbind. It implements the carrier that package oncrpc describes, with three
// limits: a message has at most [MaxMessage] bytes, there are no reverse Calls, and neither end
// learns that the other is gone, because there is no connection. Use package tcp for anything else.
//
//	server, err := udp.Listen(ctx, "127.0.0.1:20048", handler, nil)
//	conn, err := udp.Dial(ctx, "127.0.0.1:20048", nil)
//
// # Clients
//
// [Conn.Call] sends a Call again, with the same XID, until the reply comes or the context is done.
// Only replies from the address that was dialled count. If the host of that address refuses a
// datagram because no program has the port, Calls in progress fail at once, with [ErrRefused]. If a
// router or a firewall reports that it does not forward a datagram, they fail, too. Later Calls are
// sent.
//
// A Call may be executed several times: package replycache prevents that at the server. RPCSEC_GSS
// checks a reply against the last transmission, so a reply that comes after the next one fails the
// Call. Choose Config.MinRetransmit longer than the server takes.
//
// # Servers
//
// Each Call has a goroutine. A Call that comes again while the first is in progress is ignored.
// Request.Conn is the same for the Calls that one client has in progress, and down when all are
// answered. Its Context is done then, and after Server.Close.
//
// A server at a wildcard address replies from the address that the Call came to. This is
// implemented on Linux only; elsewhere, Listen refuses wildcard addresses. Calls to broadcast and
// multicast addresses are ignored.
//
// A reply that does not fit in a datagram becomes SYSTEM_ERR, since a client without any reply
// would send the Call again until it gives up.
//
// # Limits
//
// A source is an IPv4 address or an IPv6 network of 64 bits. The source of a datagram is a claim,
// so a reply may go to a host that has not asked. Config.ReplyRate bounds the bytes that such a
// host gets beyond those sent in its name; there is no answer to anything but a Call of at least 40
// bytes. Config.MaxRequests bounds handlers and memory. One source gets at most as much as remains
// after it. Datagrams beyond a limit are ignored, as a full network loses them: their clients must
// send them again in any case (RFC 5531 §4). An answer would fail a Call that can be served a
// moment later, and would go to the owner of a forged address. ServerStats.Excess counts them, a
// line of Config.Logger names the limit, and the error of a Call that got no answer in time says
// what may be the reason.
package udp
