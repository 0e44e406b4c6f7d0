package cases

import (
	"context"
	"slices"

	"github.com/rpcrdma/rpcrdma/gen/nfs3"
	"github.com/rpcrdma/rpcrdma/test/linuxpeer/internal/nfs"
)

// resultProbes call READ for an 8192-byte file, with chunks that suit its result and with others.
func resultProbes(t *T) {
	c := mountNFS(t, false, false, t.Forward(nfsRDMA))
	file, err := c.Create(t.Context(), c.root, "deviations", nfs.Unchecked(0o600))
	t.Must(err)
	t.Cleanup(func() { _ = c.Remove(context.WithoutCancel(t.Context()), c.root, "deviations") })
	const size = 8192
	t.Must(nfs.Upload(t.Context(), c.Client, file, random(size), size, 1))
	read := readCall(t, file, size)
	const stag = 0x00112233
	lists := func(v ...uint32) func(w *wire) {
		return header(read, append([]uint32{32, procMsg, 0}, v...)...)
	}
	const success = "RDMA_MSG, SUCCESS; " + goesOn
	tooSmall := "ERR_CHUNK, an RPC error that fits inline, or closed"
	refused := []string{errChunk, closed, "RDMA_MSG, SYSTEM_ERR; " + goesOn, "RDMA_MSG, GARBAGE_ARGS; " + goesOn}
	runProbes(t, []probe{
		{
			what: "READ of 8192 bytes, a Write chunk of 8192", rule: "RFC 8166 §3.4.6", expected: "the data by RDMA Write",
			allowed: []string{"8192 bytes by RDMA Write; " + success},
			send:    lists(1, 1, stag, size, 0, 0, 0, 0),
		},
		{
			what: "READ of 8192 bytes, a Write chunk of segments of 5000 and 9000", rule: "RFC 8166 §3.4.6", expected: "the data by RDMA Write",
			allowed: []string{"8192 bytes by RDMA Write; " + success},
			send:    lists(1, 2, stag, 5000, 0, 0, stag, 9000, 0, 0, 0, 0),
		},
		{
			what: "READ of 8192 bytes, a Write chunk of segments of 0, 5000, 0 and 9000", rule: "RFC 8166 §3.4.6", expected: "the data by RDMA Write",
			allowed: []string{"8192 bytes by RDMA Write; " + success},
			send:    lists(1, 4, stag, 0, 0, 0, stag, 5000, 0, 0, stag, 0, 0, 0, stag, 9000, 0, 0, 0, 0),
		},
		{
			what: "READ of 8192 bytes, two Write chunks", rule: "RFC 8166 §4.3.2.2", expected: "the data in the first, the second unused",
			allowed: []string{"8192 bytes by RDMA Write; " + success},
			send:    lists(1, 1, stag, size, 0, 0, 1, 1, stag, size, 0, 0, 0, 0),
		},
		{
			what: "READ of 8192 bytes, a Write chunk of 4096", rule: "RFC 8166 §4.5.3", expected: tooSmall, allowed: refused,
			send: lists(1, 1, stag, 4096, 0, 0, 0, 0),
		},
		{
			what: "READ of 8192 bytes, an empty Write chunk and no Reply chunk", rule: "RFC 8166 §4.3.2.3", expected: tooSmall, allowed: refused,
			send: lists(1, 0, 0, 0),
		},
		{
			what: "READ of 8192 bytes, a Reply chunk of 16384", rule: "RFC 8166 §3.5.3", expected: "the reply by RDMA Write, and RDMA_NOMSG",
			allowed: []string{"8320 bytes by RDMA Write; RDMA_NOMSG; " + goesOn},
			send:    lists(0, 1, 1, stag, 16384, 0, 0),
		},
		{
			what: "READ of 8192 bytes, a Reply chunk of 1024", rule: "RFC 8166 §4.5.3", expected: tooSmall, allowed: refused,
			send: lists(0, 1, 1, stag, 1024, 0, 0),
		},
		{
			what: "READ of 8192 bytes, no chunk", rule: "RFC 8166 §4.3.3", expected: tooSmall, allowed: refused,
			send: lists(0, 0),
		},
	})
}

// readCall returns the RPC message of READ, at offset 0.
func readCall(t *T, file nfs3.Handle, count uint32) []byte {
	cred, err := nfs.Cred(0, 0)
	t.Must(err)
	opaque := func(b []byte) []byte {
		return slices.Concat(words(uint32(len(b))), b, make([]byte, -len(b)&3))
	}
	return slices.Concat(
		words(probeXID, 0, 2, nfs3.Program, nfs3.Version, nfs3.ProcRead),
		words(uint32(cred.Flavor)), opaque(cred.Body), words(0, 0),
		opaque(file.Data), words(0, 0, count),
	)
}
