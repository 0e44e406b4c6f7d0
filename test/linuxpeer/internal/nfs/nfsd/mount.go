package nfsd

import (
	"context"
	"net"
	"sync"

	"github.com/rpcrdma/rpcrdma/gen/mount3"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/record"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// maxMountCall is the size in bytes of the longest call to the mount service.
const maxMountCall = 4096

// ServeMount serves the mount protocol on the connections that l accepts, until ctx ends. It closes
// l and the connections.
func (s *Server) ServeMount(ctx context.Context, l net.Listener) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		wg.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			for {
				call, err := record.Read(conn, maxMountCall)
				if err != nil {
					return
				}
				reply := s.mount(call)
				if reply == nil || record.Write(conn, reply) != nil {
					return
				}
			}
		})
	}
}

// mount answers a call to the mount service. It returns nil for a message that is no call.
func (s *Server) mount(call []byte) []byte {
	d := xdr.NewDecoder(call, nil)
	var m oncrpc.Header
	if m.DecodeXDR(d) != nil || m.Body.Type != oncrpc.MsgCall {
		return nil
	}
	reply, results := oncrpc.NewReply(m.XID, oncrpc.Success), xdr.Value(new(oncrpc.Void))
	switch c := &m.Body.Call; {
	case c.Prog != mount3.Program:
		reply = oncrpc.NewReply(m.XID, oncrpc.ProgUnavail)
	case c.Vers != mount3.Version:
		reply = oncrpc.NewProgMismatch(m.XID, mount3.Version, mount3.Version)
	case c.Proc == mount3.ProcMount:
		var path mount3.DirPath
		if path.DecodeXDR(d) != nil {
			reply = oncrpc.NewReply(m.XID, oncrpc.GarbageArgs)
			break
		}
		results = &mount3.MountRes{OK: mount3.MountResOK{Handle: s.Root().Data, AuthFlavors: []int32{int32(oncrpc.AuthSys)}}}
	case c.Proc == mount3.ProcNull, c.Proc == mount3.ProcUnmount, c.Proc == mount3.ProcUnmountAll:
	default:
		reply = oncrpc.NewReply(m.XID, oncrpc.ProcUnavail)
	}
	e := xdr.NewEncoder(nil)
	if reply.EncodeXDR(e) != nil || results.EncodeXDR(e) != nil {
		return nil
	}
	return e.Bytes()
}
