// Package peertest is a peer for tests that speaks verbs only, so that it can break every rule
// above them: it sends messages as they are written in a test, in hexadecimal, uses any key for any
// RDMA operation, and keeps a record of all that is done to its own memory. It works over every
// provider.
//
//	p := peertest.New(t, dev)
//	p.Dial(dev, addr, nil)
//	o := p.Offer(100, verbs.AccessRemoteWrite|verbs.AccessLocalWrite)
//	p.SendHex("cafe0001 00000001 00000020 00000000 00000000 00000001 00000001" + o.Segment() + ...)
//	got := p.Message(time.Second)
//	o.Changes() // the bytes of o that are not as they were
package peertest
