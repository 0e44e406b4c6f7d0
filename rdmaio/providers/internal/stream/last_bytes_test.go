package stream

import "testing"

// sayer is a Framer that records the Progress of its LastBytes.
type sayer struct {
	toyFramer
	said *Progress
}

func (s *sayer) LastBytes(b []byte, _ *Report, sent Progress) []byte {
	s.said = &sent
	return append(b, "report"...)
}

// The last bytes are the rest of the last write and the report. There is no report after a part of
// a frame, without a reason, and before this side may send.
func TestLastBytes(t *testing.T) {
	const rest = "what the socket did not take"
	for name, tt := range map[string]struct {
		begun, truncated, waits bool
		sent                    int
		reason                  Reason
		want                    string
		said                    Progress
	}{
		"between messages":            {reason: ReasonFormat, want: rest + "report", said: NotBegun},
		"a message without a frame":   {begun: true, reason: ReasonFormat, want: rest + "report", said: BegunOnly},
		"an open message":             {begun: true, sent: 100, reason: ReasonFormat, want: rest + "report", said: SentPart},
		"after an open message":       {sent: 100, reason: ReasonFormat, want: rest + "report", said: NotBegun},
		"half of a frame":             {truncated: true, reason: ReasonFormat},
		"nothing to report":           {want: rest},
		"a peer that must send first": {waits: true, reason: ReasonFormat, want: rest},
	} {
		f := &sayer{}
		s := sender{q: &queues{last: Report{Reason: tt.reason}}, begun: tt.begun, sqSent: tt.sent, mayWrite: !tt.waits, out: &batch{bufs: [][]byte{[]byte(rest)}}}
		got := string(s.lastBytes(&Conn{framer: f, truncated: tt.truncated}))
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
		if f.said != nil && *f.said != tt.said {
			t.Errorf("%s: progress %d, want %d", name, *f.said, tt.said)
		}
	}
}
