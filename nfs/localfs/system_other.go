//go:build !linux && !darwin && !freebsd

package localfs

import (
	"io/fs"
	"os"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

const openFlags = 0

func statOf(fs.FileInfo) (stat, error) { return stat{}, errSystem }

func (l *FS) generation(string) uint64 { return 0 }

func (l *FS) space() (vfs.Space, error) { return vfs.Space{}, errSystem }

func lockFile(string) (*os.File, error) { return nil, errSystem }
