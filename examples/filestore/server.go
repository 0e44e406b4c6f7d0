package main

import (
	"sync"

	"github.com/rpcrdma/rpcrdma/examples/filestore/store"
	"github.com/rpcrdma/rpcrdma/examples/filestore/store/storerpc"
	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/runtime/oncrpc/rpc"
)

// fileStore serves files from memory. It is a storerpc.Server.
type fileStore struct {
	mu    sync.Mutex
	files map[string][]byte
}

// newStore returns a handler that serves an empty store.
func newStore() rdmaio.Handler {
	return rpc.NewHandler(nil, storerpc.NewService(&fileStore{files: map[string][]byte{}}))
}

// Write stores data. It copies the data, which is a part of the message and not valid afterwards.
func (s *fileStore) Write(_ *rpc.Request, args *store.WriteArgs, res *store.WriteRes) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.files[args.Name.String()]
	if args.Offset > uint64(len(old)) {
		res.Status = store.BadRange // no holes in this store
		return nil
	}
	// The transport may still be sending the old bytes to readers, so the file gets a new slice.
	end := int(args.Offset) + len(args.Data)
	file := make([]byte, max(end, len(old)))
	copy(file, old)
	copy(file[args.Offset:], args.Data)
	s.files[args.Name.String()] = file
	res.Count = uint32(len(args.Data))
	return nil
}

// Read answers with a part of the file, which the transport sends without a copy.
func (s *fileStore) Read(_ *rpc.Request, args *store.ReadArgs, res *store.ReadRes) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file, ok := s.files[args.Name.String()]
	if !ok {
		res.Status = store.NoSuchFile
		return nil
	}
	if args.Offset > uint64(len(file)) {
		res.Status = store.BadRange
		return nil
	}
	data := file[args.Offset:]
	eof := uint64(len(data)) <= uint64(args.Count)
	if !eof {
		data = data[:args.Count]
	}
	if len(data) > store.MaxData {
		data, eof = data[:store.MaxData], false
	}
	res.OK = store.ReadOK{EOF: eof, Data: data}
	return nil
}
