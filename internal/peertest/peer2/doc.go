// Package peer2 is a peer for tests of RPC-over-RDMA version 2. It is written from the document
// (draft-ietf-nfsv4-rpcrdma-version-two-00), without the generated code or other code of the
// transport, so that tests can check these with it. Section numbers are those of the document.
//
// A [Message] is one transport message, which [Message.Bytes] encodes and [Parse] decodes. It can
// break every rule. A [Book] counts the credits of one end. A [Peer] is an end of a connection in
// either role. It fails its test when the other side sends more than it was granted, and logs every
// message in words.
//
//	p := peer2.New(t, dev, peer2.Config{Client: true})
//	p.Dial(dev, addr, nil)
//	p.Send(peer2.Props(1))
//	p.Next() // the server's own properties
//	p.Send(peer2.Call(2, rpc))
//	reply := p.Next()
package peer2
