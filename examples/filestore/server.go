package main

import (
	"errors"
	"sync"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc"
	"github.com/rpcrdma/rpcrdma/runtime/xdr"
)

// fileStore is the server: files in memory.
type fileStore struct {
	mu    sync.Mutex
	files map[string][]byte
}

func newStore() *fileStore { return &fileStore{files: map[string][]byte{}} }

// ServeRPC answers one Call. The request has the whole message, with the data
// already at its place, so the arguments decode without a copy.
func (s *fileStore) ServeRPC(r *rdmaio.Request) {
	d := xdr.NewDecoder(r.Message, &xdr.DecoderOptions{Alias: true})
	var head oncrpc.Message
	if head.DecodeXDR(d) != nil || head.Body.Type != oncrpc.Call {
		// No call that could be answered; an empty message ends it.
		r.Reply(rdmaio.Message{}, nil)
		return
	}
	// What came by chunk must be an item that the binding names, of that length.
	d.ExpectAt(uint64(d.Offset()), r.Placed)
	answer, results := s.dispatch(&head, d)
	e := xdr.NewEncoder(nil)
	err := answer.EncodeXDR(e)
	if err == nil && results != nil {
		e.Reduce(xdr.Reduction{Sites: sites(head.Body.Call.Proc, true)}, uint64(e.Len()))
		err = results.EncodeXDR(e)
	}
	if err != nil { // a fault of this program: nothing that it makes is out of bounds
		e.Reset(nil)
		_ = oncrpc.NewReply(head.XID, oncrpc.SystemErr).EncodeXDR(e)
	}
	r.Reply(rdmaio.Message{Inline: e.Bytes(), Items: e.Items()}, nil)
}

// dispatch runs the procedure, and returns the reply's header and results.
func (s *fileStore) dispatch(head *oncrpc.Message, d *xdr.Decoder) (*oncrpc.Message, xdr.Value) {
	call, xid := &head.Body.Call, head.XID
	switch {
	case call.Rpcvers != oncrpc.Version:
		return oncrpc.NewRPCMismatch(xid), nil
	case call.Prog != store.Program:
		return oncrpc.NewReply(xid, oncrpc.ProgUnavail), nil
	case call.Vers != store.Version1:
		return oncrpc.NewProgMismatch(xid, store.Version1, store.Version1), nil
	}
	switch call.Proc {
	case store.ProcNull:
		return oncrpc.NewReply(xid, oncrpc.Success), nil
	case store.ProcWrite:
		var args store.WriteArgs
		if errors.Join(args.DecodeXDR(d), d.Done()) != nil {
			return oncrpc.NewReply(xid, oncrpc.GarbageArgs), nil // R328
		}
		return oncrpc.NewReply(xid, oncrpc.Success), s.write(&args)
	case store.ProcRead:
		var args store.ReadArgs
		if errors.Join(args.DecodeXDR(d), d.Done()) != nil {
			return oncrpc.NewReply(xid, oncrpc.GarbageArgs), nil
		}
		return oncrpc.NewReply(xid, oncrpc.Success), s.read(&args)
	}
	return oncrpc.NewReply(xid, oncrpc.ProcUnavail), nil
}

func (s *fileStore) write(args *store.WriteArgs) *store.WriteRes {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.files[args.Name.String()]
	if args.Offset > uint64(len(old)) {
		return &store.WriteRes{Status: store.BadRange} // no holes in this store
	}
	// Readers may still be sending the old bytes: a write makes a new slice.
	end := int(args.Offset) + len(args.Data)
	file := make([]byte, max(end, len(old)))
	copy(file, old)
	copy(file[args.Offset:], args.Data)
	s.files[args.Name.String()] = file
	return &store.WriteRes{Status: store.OK, Count: uint32(len(args.Data))}
}

func (s *fileStore) read(args *store.ReadArgs) *store.ReadRes {
	s.mu.Lock()
	defer s.mu.Unlock()
	file, ok := s.files[args.Name.String()]
	if !ok {
		return &store.ReadRes{Status: store.NoSuchFile}
	}
	if args.Offset > uint64(len(file)) {
		return &store.ReadRes{Status: store.BadRange}
	}
	data := file[args.Offset:]
	eof := uint64(len(data)) <= uint64(args.Count)
	if !eof {
		data = data[:args.Count]
	}
	if len(data) > store.MaxData {
		data, eof = data[:store.MaxData], false
	}
	return &store.ReadRes{Status: store.OK, Ok: store.ReadOk{EOF: eof, Data: data}}
}
