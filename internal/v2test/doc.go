// Package v2test connects one of our ends to package peer2, a scripted peer of version 2 that was
// written from the draft alone. The peer checks every message that it receives, and that it had
// granted a credit for the message. The oracle of the World also checks the messages of our end.
//
//	p, c := v2test.Client(t, w, peer2.Config{}, v2test.Config(rdmaio.Config{}))
//	done := v2test.Start(c, rpctest.BigCall(1, 40))
//	p.Send(p.Next().Unused(rpctest.ReplyBytes(1, 24)))
//	r := <-done
package v2test
