// Package v2test connects one of our ends to a scripted peer of version 2, which was written from
// the document (package peer2). The peer checks every message that it gets, and that it granted a
// credit for it. Besides, the oracle of the World checks all messages of our end.
//
//	p, c := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
//	done := v2test.Start(c, rpctest.BigCall(1, 40))
//	p.Send(p.Next().Unused(rpctest.ReplyBytes(1, 24)))
//	r := <-done
package v2test
