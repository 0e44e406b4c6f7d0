package xchar_test

import (
	"fmt"

	"github.com/rpcrdma/rpcrdma/rdmaio/xchar"
)

// generous accepts each receive size up to 64 KiB, and nothing else.
type generous struct{ xchar.RejectAll }

func (generous) RaiseReceiveSize(from, to uint32) xchar.Decision {
	if to > 65536 {
		return xchar.Reject
	}
	return xchar.Accept
}

// A client asks its server for larger Receives. The server answers with pending, and announces the
// size when its smaller Receives are consumed.
func Example() {
	client, _ := xchar.New(nil)
	server, _ := xchar.New(&xchar.Config{Server: true, Policy: generous{}})

	req, err := client.Request(0x1000, xchar.ReceiveSize(16384))
	if err != nil {
		fmt.Println(err)
		return
	}
	out := server.Receive(req.XID, &req.Header)
	fmt.Println("Receives to post:", out.Post)
	for _, m := range out.Send {
		fmt.Println(client.Receive(m.XID, &m.Header).Outcomes)
	}
	for _, m := range server.ReceivesReplaced(16384).Send {
		fmt.Println(client.Receive(m.XID, &m.Header).Outcomes)
	}
	fmt.Println("limit:", client.SendLimit(4096))
	// Output:
	// Receives to post: 16384
	// [{4096 receive size 16384 pending}]
	// [{4096 receive size 16384 done}]
	// limit: 16384
}
