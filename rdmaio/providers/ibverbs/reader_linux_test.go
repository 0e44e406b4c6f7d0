package ibverbs

import (
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// A reader is closed when its goroutine has handled the last event: the objects of events are
// destroyed after that.
func TestReaderIsClosedAfterItsLastEvent(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	entered, release := make(chan struct{}), make(chan struct{})
	var handled atomic.Bool
	first := true
	reader, err := newReader(int(r.Fd()), "events", func() bool {
		if first {
			first = false
			close(entered)
			<-release
			handled.Store(true)
		}
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	<-entered
	time.AfterFunc(5*time.Millisecond, func() { close(release) })
	reader.close()
	if !handled.Load() {
		t.Error("the reader is closed while it handles an event")
	}
}
