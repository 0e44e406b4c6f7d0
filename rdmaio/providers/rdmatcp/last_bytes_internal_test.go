package rdmatcp

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/rdmaio/providers/rdmatcp/segment"
)

// The report is a message of its own. It begins after a whole message only, neither inside an open
// one nor after a part of a segment, and has the number of a message that was not begun.
func TestLastBytes(t *testing.T) {
	rest := []byte("what the socket did not take")
	said := report{reason: reasonFormat, number: 7}
	for name, tt := range map[string]struct {
		begun     bool
		sent      int
		truncated bool
		known     bool
		last      report
		number    uint32 // of the report; 0: none is sent
	}{
		"between messages":                {known: true, last: said, number: 41},
		"a message with no segment sent":  {begun: true, known: true, last: said, number: 40},
		"an open message":                 {begun: true, sent: 100, known: true, last: said},
		"half of a segment":               {truncated: true, known: true, last: said},
		"nothing to say":                  {known: true},
		"a peer whose ID is not known":    {last: said},
		"an open message, nothing to say": {begun: true, sent: 100, known: true},
	} {
		q := &queuePair{dev: &Device{}, last: tt.last, begun: tt.begun, sqSent: tt.sent, out: &batch{bufs: [][]byte{rest}}}
		w := &wire{number: 41, truncated: tt.truncated, stream: segment.Stream{ConnID: 5, Known: tt.known}}
		got := q.lastBytes(w)
		if tt.truncated {
			if got != nil {
				t.Errorf("%s: %x", name, got)
			}
			continue
		}
		behind, ok := bytes.CutPrefix(got, rest)
		if !ok {
			t.Errorf("%s: the rest of the write is missing: %x", name, got)
		}
		if tt.number == 0 {
			if len(behind) > 0 {
				t.Errorf("%s: %x", name, behind)
			}
			continue
		}
		var h segment.Header
		control, payload, _, err := segment.Open(behind, &h)
		if err != nil || h.Number != tt.number || h.ConnID != 5 || h.Res != resReport || !h.Begin || !h.End || len(payload) > 0 || decodeReport(control) != said {
			t.Errorf("%s: %+v with %x, %v", name, h, control, err)
		}
	}
}
