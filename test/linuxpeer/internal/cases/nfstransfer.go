package cases

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs"
)

// random returns n bytes that look random.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b) // never fails
	return b
}

// upload writes a file and compares its bytes: as read back, and as the guest has them.
func upload(t *T, c *mounted, data []byte, size, depth int) (up, down time.Duration) {
	ctx := t.Context()
	file, err := c.Create(ctx, c.root, "big", nfs.Unchecked(0o600))
	t.Must(err)
	t.Cleanup(func() { _ = c.Remove(context.WithoutCancel(ctx), c.root, "big") })
	start := time.Now()
	t.Must(nfs.Upload(ctx, c.Client, file, data, size, depth))
	up = time.Since(start)
	got := make([]byte, len(data))
	start = time.Now()
	t.Must(nfs.Download(ctx, c.Client, file, got, size, depth))
	down = time.Since(start)
	if !bytes.Equal(got, data) {
		t.Errorf("the bytes read are not those written")
	}
	return up, down
}

// nfsTransfer moves a file to the server and back.
func nfsTransfer(t *T, crc bool, size, depth int) {
	c := mountNFS(t, crc, false, t.Forward(nfsRDMA))
	info, err := c.FSInfo(t.Context(), c.root)
	t.Must(err)
	data, block := random(size), int(min(info.Wtmax, info.Rtmax))
	if crc && depth > 1 { // less to send again each time that siw closes the connection: see below
		block = 16 << 10
	}
	up, down := upload(t, c, data, block, depth)
	n, s := c.shapes.Counts(), c.conn.Stats()
	if n.ReadChunks == 0 || n.WritesUsed == 0 || n.ErrorMessages > 0 {
		t.Errorf("%v: expected chunks both ways", n)
	}
	// siw misreads a CRC that comes in two TCP segments, and closes the connection. How TCP's bytes
	// come in segments is for QEMU to decide.
	faults := strings.Count(strings.Join(t.KernelLog(), "\n"), "siw: crc error")
	if int(s.Lost) > faults {
		t.Errorf("%d connections were lost, %d by siw's fault; %+v", s.Lost, faults, s)
	}
	rate := func(d time.Duration) float64 { return float64(size) / 1e6 / d.Seconds() }
	t.Say("%d MiB each way in calls of %d KiB: WRITE %.0f MB/s, READ %.0f MB/s, %d connections lost", size>>20, block>>10, rate(up), rate(down), s.Lost)
}

// nfsRecovery resets connections in the middle of a transfer.
func nfsRecovery(t *T, crc bool) {
	// A thread of the server waits for each RDMA Read. With as many Reads in progress as threads,
	// none is left to notice the end of the connection: Linux 6.1 was seen to hang.
	t.Shell("echo 32 >/proc/fs/nfsd/threads")
	cutter, err := nfs.NewCutter(t.Forward(nfsRDMA), 100_000, 1_000_000, 3_000_000)
	t.Must(err)
	t.Cleanup(func() { t.Must(cutter.Close()) })
	c := mountNFS(t, crc, false, cutter.Addr())
	upload(t, c, random(8<<20), 64<<10, 16)
	s := c.conn.Stats()
	// With CRCs siw closes some connections before the cutter does.
	if n := cutter.Cuts(); n == 0 || n < 3 && !crc || s.Connects < 4 {
		t.Errorf("%d connections cut, expected 3; %+v", n, s)
	}
	t.Say("%d connections reset, %d calls sent again", cutter.Cuts(), s.Retransmissions)
}
