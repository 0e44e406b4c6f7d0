//go:build !linux && !darwin && !freebsd

package nfsd

import (
	"errors"
	"io/fs"
	"os"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
)

// errSystem is the error of New on systems whose files have no inode numbers, or on which the
// server was not built yet.
var errSystem = errors.New("nfsd: no inode numbers here: serve on Linux, macOS or FreeBSD")

const openFlags = 0

func statOf(fs.FileInfo) (stat, error) { return stat{}, errSystem }

func (s *Server) generation(string) uint64 { return 0 }

func (s *Server) space() (nfs3.FSStatResOK, error) { return nfs3.FSStatResOK{}, errSystem }

func lockFile(string) (*os.File, error) { return nil, errSystem }
