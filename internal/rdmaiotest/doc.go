// Package rdmaiotest runs connections of package rdmaio in tests, and checks everything that they
// send.
//
// A [World] is a network with a client's and a server's device. Both are traced, and an oracle
// sees each event. It checks the rules of RFC 8166 and RFC 8167 that hold at all times (credits,
// live keys, one answer for each Call), and fails the test at its end if an endpoint broke one. It
// knows the documents and the bytes of messages, and nothing of the engine. Package peertest has a
// peer that breaks rules, [SocketPeer] one that needs no device at all, and [Linearizable] judges
// a history of operations.
//
//	w := rdmaiotest.New(t) // or NewTCP, or Each for both
//	s := w.Serve(handler, nil)
//	c := w.Dial(nil)
//	... make Calls ...
//	w.Golden(t, "name", w.Since(0))
package rdmaiotest
