package localfs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/vfs"
)

// A named pipe in the place of a directory blocks no call, as opening it for reading would.
func TestPipeInPlaceOfDirectory(t *testing.T) {
	eachWay(t, func(t *testing.T, l *FS, dir string) {
		name := filepath.Join(dir, "a/b")
		check(t, os.MkdirAll(name, 0o755))
		b, _ := at(t, l, "a/b")
		check(t, os.Remove(name))
		check(t, syscall.Mkfifo(name, 0o600))
		ended := make(chan error, 1)
		go func() {
			_, _, err := b.Create("new", vfs.New{Mode: 0o600})
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil {
				t.Error("Create succeeds in a named pipe")
			}
		case <-time.After(5 * time.Second):
			t.Error("Create waits for a writer of the named pipe")
			for { // let it end, so that the FS can be closed
				w, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
				if err == nil {
					check(t, w.Close())
					break
				}
			}
			<-ended
		}
	})
}
