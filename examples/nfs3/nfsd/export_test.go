package nfsd

import (
	"io/fs"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// StatOf returns the attributes of a file.
func StatOf(fi fs.FileInfo) (nfs3.Attr, error) {
	st, err := statOf(fi)
	return st.attr, err
}

// Opens reports whether a handle is of the server.
func (s *Server) Opens(handle []byte) bool {
	_, _, ok := s.table.open(handle)
	return ok
}
