package certs

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// ReloadAt calls Reload when the process gets one of the signals, by default SIGHUP, until stop is
// called. The signals then no longer end the process. Errors are logged. stop waits for a
// Reload in progress.
func (f *Files) ReloadAt(signals ...os.Signal) (stop func()) {
	if len(signals) == 0 {
		signals = []os.Signal{syscall.Signal(1)} // SIGHUP, for which js/wasm has no name
	}
	got, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(got, signals...)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-got:
				_ = f.Reload()
			case <-done:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		signal.Stop(got)
		close(done)
		wg.Wait()
	})
}
