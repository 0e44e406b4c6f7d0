package strangertest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/iwarp/internal/stranger"
	"github.com/rpcrdma/rpcrdma/rdmaio/verbs"
)

// A wrong CRC of a long FPDU ends the connection with its Terminate, and what it carries is neither
// delivered nor placed outside the region that it names (RFC 5044 §8).
func TestLongBadCRC(t *testing.T) {
	for _, size := range []int{1000, 4096, 5000, 60_000} {
		for _, what := range []string{"payload", "CRC", "opcode"} {
			t.Run(fmt.Sprintf("%d bytes, %s", size, what), func(t *testing.T) {
				h := newHost(t, open(t, config()))
				room := bytes.Repeat([]byte{'.'}, size+200)
				mr := h.region("memory", room[100:100+size], everything)
				h.post(size)
				p := h.connect(false, stranger.Config{Startup: enhanced(true), MaxULPDU: 1<<16 - 1}, nil)
				b := p.Wire(p.DueWrite(mr.RKey(), mr.RemoteAddr(), make([]byte, size))...)
				if what == "opcode" {
					b = p.Wire(p.DueSend(stranger.Send, make([]byte, size), 0)...)
				}
				at := map[string]int{"payload": len(b) / 2, "CRC": len(b) - 1, "opcode": 3}[what]
				b[at] ^= 1
				p.PutBytes(b)
				p.Send(stranger.Send, []byte("late"), 0)
				if e := p.Next(); e.Kind != stranger.Terminated || what != "opcode" && e.Terminate.Code != stranger.MPACRC {
					t.Errorf("%v, want %v", e, stranger.MPACRC)
				}
				if err := h.ended(); !errors.Is(err, verbs.ErrConnectionBroken) {
					t.Errorf("reason %v", err)
				}
				if wc := h.next(); wc.Status == verbs.StatusSuccess {
					t.Errorf("completion %+v", wc)
				}
				if bytes.Count(room[:100], []byte{'.'}) != 100 || bytes.Count(room[100+size:], []byte{'.'}) != 100 {
					t.Error("a byte outside the region changed")
				}
				if size <= 4096 && bytes.Count(room, []byte{'.'}) != len(room) {
					t.Error("a byte was placed before its CRC was checked (RFC 5044 §6)")
				}
			})
		}
	}
}
