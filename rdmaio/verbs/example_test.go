package verbs_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/mem"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// end is one end of a connection, with a registered region of memory.
type end struct {
	cq verbs.CompletionQueue
	qp verbs.QueuePair
	mr verbs.MemoryRegion
}

func newEnd(dev verbs.Device, buf []byte) (*end, error) {
	pd, err := dev.AllocPD()
	if err != nil {
		return nil, err
	}
	e := &end{}
	if e.cq, err = dev.CreateCQ(64, nil); err != nil {
		return nil, err
	}
	if e.mr, err = pd.RegisterMemory(buf, verbs.AccessLocalWrite); err != nil {
		return nil, err
	}
	e.qp, err = pd.CreateQP(verbs.QPConfig{SendCQ: e.cq, RecvCQ: e.cq, MaxSendWR: 8, MaxRecvWR: 8})
	return e, err
}

// A message goes from one queue pair to another. Over rdmatcp, iwarp and ibverbs a program does the
// same; there it waits for completions with CompletionQueue.Arm.
func Example() {
	ctx := context.Background()
	network := mem.New(nil)
	serverDev, err := network.Open("server", nil)
	if err != nil {
		log.Fatal(err)
	}
	clientDev, err := network.Open("client", nil)
	if err != nil {
		log.Fatal(err)
	}
	ln, err := serverDev.Listen(ctx, "here")
	if err != nil {
		log.Fatal(err)
	}
	received := make([]byte, 64)
	server, err := newEnd(serverDev, received)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := server.qp.PostRecv([]verbs.RecvWR{{WRID: 1, SGL: []verbs.SGE{{MR: server.mr, Length: 64}}}}); err != nil {
		log.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() {
		req, err := ln.Accept(ctx)
		if err == nil {
			_, err = req.Accept(ctx, server.qp, nil)
		}
		accepted <- err
	}()

	client, err := newEnd(clientDev, []byte("hello"))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := clientDev.Dial(ctx, "here", client.qp, nil); err != nil {
		log.Fatal(err)
	}
	if err := <-accepted; err != nil {
		log.Fatal(err)
	}
	send := verbs.SendWR{WRID: 2, Opcode: verbs.Send, Flags: verbs.SendSignaled, SGL: []verbs.SGE{{MR: client.mr, Length: 5}}}
	if _, err := client.qp.PostSend([]verbs.SendWR{send}); err != nil {
		log.Fatal(err)
	}
	var wc [1]verbs.WC
	for n := 0; n == 0; {
		if n, err = server.cq.Poll(wc[:]); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(wc[0].Status, string(received[:wc[0].ByteLen]))
	// Output: success hello
}
