package client_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/rpcrdma/nfs/client"
	"github.com/rpcrdma/rpcrdma/nfs/nfsd"
)

// A file of 16 MiB is read with 64 READs of 4 KiB in flight, or one of 1 MiB after the other, on
// one TCP connection. cpu-us/READ has the processor time of both ends.
func BenchmarkReadsInFlight(b *testing.B) {
	s := serve(b, nfsd.Config{})
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	check(b, os.WriteFile(filepath.Join(s.dir, "a"), want, 0o644))
	port := s.overTCP(b)
	for _, tt := range []struct{ size, depth int }{{4 << 10, 64}, {4 << 10, 8}, {1 << 20, 8}} {
		b.Run(fmt.Sprintf("%dKiBx%d", tt.size>>10, tt.depth), func(b *testing.B) {
			c, _ := dial(b, "127.0.0.1:/export", &client.Config{Transport: "tcp", Port: port, MountPort: port, MaxIO: tt.size, Depth: tt.depth})
			f, err := c.Open(b.Context(), "a")
			check(b, err)
			got := make([]byte, len(want))
			before := processorTime(b)
			b.ReportAllocs()
			b.SetBytes(int64(len(want)))
			for b.Loop() {
				_, err := f.ReadAt(got, 0)
				check(b, err)
			}
			reads := float64(b.N * len(want) / tt.size)
			b.ReportMetric(float64((processorTime(b)-before).Microseconds())/reads, "cpu-us/READ")
			if !bytes.Equal(got, want) {
				b.Error("the data differ")
			}
		})
	}
}

// processorTime returns the processor time of the process.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	check(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
