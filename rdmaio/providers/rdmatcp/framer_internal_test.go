package rdmatcp

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/rdmatcp/segment"
	"github.com/rpcrdma/rpcrdma/rdmaio/providers/internal/stream"
)

// The report is a separate message. It begins after a whole message only, not inside an open one,
// and has the number of a message that was not begun.
func TestLastBytes(t *testing.T) {
	rest := []byte("what the socket did not take")
	said := report{reason: reasonFormat, number: 7}
	for name, tt := range map[string]struct {
		raw    *RawConfig
		sent   stream.Progress
		number uint32 // of the report; 0: none is sent
	}{
		"between messages":               {sent: stream.NotBegun, number: 41},
		"a message with no segment sent": {sent: stream.BegunOnly, number: 40},
		"an open message":                {sent: stream.SentPart},
		"no profile":                     {raw: &RawConfig{}},
	} {
		f := &framer{raw: tt.raw, number: 41, stream: segment.Stream{ConnID: 5, Known: true}}
		got := f.LastBytes(bytes.Clone(rest), &stream.Report{Reason: stream.ReasonFormat, Number: 7}, tt.sent)
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

// Each reason of package stream has a reason of the profile, with the same meaning to the peer.
func TestEachReasonHasOneOfTheProfile(t *testing.T) {
	for why := stream.ReasonGoodbye; why <= stream.ReasonSlow; why++ {
		if got := reasonOf(why); got != reason(why) {
			t.Errorf("reason %d is reported as %d, %v", why, got, got)
		}
	}
}
