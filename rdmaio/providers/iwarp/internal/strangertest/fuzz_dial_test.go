package strangertest

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// FuzzDial connects to a hostile server, which answers the startup frame with any bytes, or with a
// correct Reply, and then sends any bytes, while a Receive and an RDMA Read wait. The connection
// ends, with a reason, and no memory changes but that of the Receive and the Read.
//
//fuzz:floor 250 each execution makes a connection, with its goroutines
func FuzzDial(f *testing.F) {
	cfg := config()
	cfg.NoCRC = true
	dev, err := iwarp.Open(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { dev.Close() })
	v, err := stranger.Vectors()
	if err != nil {
		f.Fatal(err)
	}
	for _, v := range v {
		var all []byte
		for _, s := range v.Steps {
			if b := v.Expand(s); !s.Initiator && len(b) > 0 && !bytes.HasPrefix(b, []byte("MPA")) {
				all = append(all, b...)
			}
		}
		f.Add([]byte(nil), all)
	}
	for _, s := range []stranger.Startup{
		{Reply: true}, {Reply: true, Reject: true, Private: []byte("no")}, {Reply: true, Enhanced: true, IRD: 1, ORD: 1, PeerToPeer: true, ReadRTR: true},
		{Reply: true, Markers: true}, {Reply: true, Revision: 9}, {CRC: true},
	} {
		f.Add(s.Bytes(), []byte{0, 2, 0x41, 0x43})
		f.Add(s.Bytes()[:17], []byte(nil))
	}
	const at, size = 50, 50 // of the Receive and the Read
	f.Fuzz(func(t *testing.T, startup, b []byte) {
		memory := bytes.Repeat([]byte{stranger.VictimPoison}, 200)
		pd, err := dev.AllocPD()
		if err != nil {
			t.Fatal(err)
		}
		cq, _ := dev.CreateCQ(16, nil)
		mr, _ := pd.RegisterMemory(memory[at:at+2*size], verbs.AccessLocalWrite|verbs.AccessRemoteRead)
		lost, ended := verbs.NotifyChannel()
		q, err := pd.CreateQP(verbs.QPConfig{SendCQ: cq, RecvCQ: cq, MaxSendWR: 4, MaxRecvWR: 4, Notify: lost})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.PostRecv([]verbs.RecvWR{{SGL: []verbs.SGE{{MR: mr, Length: size}}}}); err != nil {
			t.Fatal(err)
		}
		here, there := pipe()
		wrote := make(chan bool)
		go func() {
			defer close(wrote)
			there.SetDeadline(time.Now().Add(patience))
			request, err := stranger.ReadStartup(there, false)
			if err == nil {
				reply := startup
				if len(reply) == 0 {
					s := stranger.Answer(request, enhanced(false))
					reply = s.Bytes()
				}
				go io.Copy(io.Discard, there)
				there.Write(append(bytes.Clone(reply), b...))
			}
			there.(interface{ CloseWrite() error }).CloseWrite()
		}()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		_, err = dev.DialConn(ctx, here, q, nil)
		cancel()
		if err == nil {
			// It fails if the connection has ended already.
			_, _ = q.PostSend([]verbs.SendWR{{Opcode: verbs.RDMARead, RKey: 1, SGL: []verbs.SGE{{MR: mr, Offset: size, Length: size}}}})
			select {
			case <-ended:
			case <-time.After(patience):
				t.Fatal("the connection still stands")
			}
			if q.Err() == nil {
				t.Error("the connection ended without a reason")
			}
		}
		q.Close()
		<-wrote
		there.Close()
		if n := bytes.Count(memory[:at], []byte{stranger.VictimPoison}) + bytes.Count(memory[at+2*size:], []byte{stranger.VictimPoison}); n != len(memory)-2*size {
			t.Errorf("a byte was placed outside the Receive and the Read: %x", memory)
		}
		mr.Deregister()
		for _, f := range []func() error{cq.Close, pd.Close} {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
	})
}
