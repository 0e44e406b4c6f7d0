package ibverbs

import (
	"errors"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/abi"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/ibverbs/internal/quirks"
)

// BenchmarkConnect makes connections that all stay: a thousand with -benchtime 1000x. It reports
// the registrations for each client, and their bytes.
func BenchmarkConnect(b *testing.B) {
	f := openFake(b, abi.TransportIB, quirks.Quirks{}, Config{})
	server := idleServer(b, f.s, nil)
	conns := make([]*rdmaio.Conn, b.N)
	b.ResetTimer()
	for i := range conns {
		var err error
		if conns[i], err = rdmaio.Dial(b.Context(), f.c, server.Addr(), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	n, total := slabsOf(f.c)
	b.ReportMetric(float64(n)/float64(b.N), "registrations/conn")
	b.ReportMetric(float64(total)/float64(b.N), "pinned-B/conn")
	errs := make([]error, 0, b.N)
	for _, c := range conns {
		errs = append(errs, c.Close())
	}
	if err := errors.Join(append(errs, server.Close())...); err != nil {
		b.Error(err)
	}
}
