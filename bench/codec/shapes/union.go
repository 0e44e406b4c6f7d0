package shapes

import "github.com/rpcrdma/rpcrdma/bench/codec/hand"

// The header's union in four layouts. Each decodes with the same code for the
// lists and is reused, so that the layout is the difference.

type padded struct {
	Align, Thresh uint32
	Lists         hand.ChunkLists
}

type failure struct {
	Code      hand.ErrCode
	Low, High uint32
}

type head struct {
	XID, Vers, Credit uint32
	Proc              hand.Proc
}

// inlineUnion has room for every arm: 280 bytes.
type inlineUnion struct {
	head
	Msg, NoMsg hand.ChunkLists
	MsgP       padded
	Error      failure
}

// pointerUnion allocates the arm in use, once per value.
type pointerUnion struct {
	head
	Msg, NoMsg *hand.ChunkLists
	MsgP       *padded
	Error      *failure
}

// slab lends arms that live as long as the decoder's message.
type slab struct {
	lists []hand.ChunkLists
	used  int
}

func (s *slab) next() *hand.ChunkLists {
	if s.used == len(s.lists) {
		s.lists = append(s.lists, hand.ChunkLists{})
	}
	l := &s.lists[s.used]
	s.used++
	return l
}

// interfaceUnion boxes the arm.
type interfaceUnion struct {
	head
	Body any
}

func (h *head) decode(p []byte) (flag uint32, rest []byte, err error) {
	if len(p) < 20 {
		return 0, p, errShort
	}
	h.XID = be.Uint32(p)
	h.Vers = be.Uint32(p[4:])
	h.Credit = be.Uint32(p[8:])
	h.Proc = hand.Proc(be.Uint32(p[12:]))
	if h.Proc != hand.Msg {
		return 0, p, errEnum
	}
	return be.Uint32(p[16:]), p[20:], nil
}

func unionDecoders(message string) []Shape {
	s := func(name string, run func([]byte) (int, error)) Shape {
		return Shape{message, "union", name, run}
	}
	var in inlineUnion
	var ptr, slabbed pointerUnion
	var boxed interfaceUnion
	var lent slab
	return []Shape{
		s("every arm inline", func(b []byte) (int, error) {
			flag, p, err := in.decode(b)
			if err != nil {
				return 0, err
			}
			return decodeLists(&in.Msg, flag, p, b)
		}),
		s("pointer an arm, kept", func(b []byte) (int, error) {
			flag, p, err := ptr.decode(b)
			if err != nil {
				return 0, err
			}
			if ptr.Msg == nil {
				ptr.Msg = new(hand.ChunkLists)
			}
			ptr.NoMsg, ptr.MsgP, ptr.Error = nil, nil, nil
			return decodeLists(ptr.Msg, flag, p, b)
		}),
		s("pointer an arm, from a slab", func(b []byte) (int, error) {
			lent.used = 0
			flag, p, err := slabbed.decode(b)
			if err != nil {
				return 0, err
			}
			slabbed.Msg = lent.next()
			slabbed.NoMsg, slabbed.MsgP, slabbed.Error = nil, nil, nil
			return decodeLists(slabbed.Msg, flag, p, b)
		}),
		s("interface value, kept", func(b []byte) (int, error) {
			flag, p, err := boxed.decode(b)
			if err != nil {
				return 0, err
			}
			l, ok := boxed.Body.(*hand.ChunkLists)
			if !ok {
				l = new(hand.ChunkLists)
				boxed.Body = l
			}
			return decodeLists(l, flag, p, b)
		}),
		s("pointer an arm, new each time", func(b []byte) (int, error) {
			flag, p, err := ptr.decode(b)
			if err != nil {
				return 0, err
			}
			return decodeLists(new(hand.ChunkLists), flag, p, b)
		}),
	}
}

// decodeLists decodes the lists that start with flag and p into l.
func decodeLists(l *hand.ChunkLists, flag uint32, p, b []byte) (int, error) {
	reads := l.Reads[:0]
	for flag == 1 {
		if len(p) < 24 {
			return 0, errShort
		}
		reads = append(reads, hand.ReadChunk{Position: be.Uint32(p), Target: hand.Segment{
			Handle: be.Uint32(p[4:]), Length: be.Uint32(p[8:]), Offset: be.Uint64(p[12:]),
		}})
		flag = be.Uint32(p[20:])
		p = p[24:]
	}
	l.Reads = reads
	left, err := finish(l, flag, p)
	return len(b) - left, err
}
