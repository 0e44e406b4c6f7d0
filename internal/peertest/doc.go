// Package peertest is a peer for tests that uses verbs only, so it can break every rule above them.
// It sends any bytes as a message, written in hexadecimal in a test, uses any key for any RDMA
// operation, and records all changes to its own memory. It works over every provider.
//
//	p := peertest.New(t, dev)
//	p.Dial(dev, addr, nil)
//	o := p.Offer(100, verbs.AccessRemoteWrite|verbs.AccessLocalWrite)
//	header := "cafe0001 00000001 00000020 00000000 00000000 00000001 00000001"
//	p.SendHex(header + o.Segment() + ...)
//	got := p.Message(time.Second)
//	o.Changes() // the bytes of o that were changed
package peertest
