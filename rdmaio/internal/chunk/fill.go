package chunk

import "github.com/rpcrdma/rpcrdma/rdmaio/internal/header"

// Transfer is one RDMA Write, of Remote.Length bytes from offset From of the data.
type Transfer struct {
	From   int
	Remote header.Segment
}

// Fill plans the RDMA Writes that put n bytes into the chunk c, and appends them to to. They fill
// the segments in order and without gaps (RFC 8166 §3.4.6, draft-ietf-nfsv4-rpcrdma-version-two-00
// §4.4.6; R78), and none has more than longest bytes. Fill sets the length of each segment to the
// number of bytes written there, as the Reply returns it (R79, R80). n must not exceed Total(c). If
// n is 0, the chunk is unused (R85).
func Fill(to []Transfer, c []header.Segment, n int, longest uint32) []Transfer {
	from := 0
	for i := range c {
		k := min(int(c[i].Length), n-from)
		c[i].Length = uint32(k)
		for done := 0; done < k; {
			m := min(k-done, int(longest))
			to = append(to, Transfer{From: from + done, Remote: header.Segment{
				Handle: c[i].Handle, Length: uint32(m), Offset: c[i].Offset + uint64(done),
			}})
			done += m
		}
		from += k
	}
	return to
}

// Returned checks the write list and reply chunk of a Reply against those that its Call offered
// (draft-ietf-nfsv4-rpcrdma-version-two-00 §4.4.6; R79 to R81, R87; T65 to T68). It appends the
// number of bytes in each write chunk to to, and returns that in the reply chunk. A chunk may be
// returned without segments: then its result is inline or has no data (R86, R330).
func Returned(to []uint64, offered, got *header.Lists) (used []uint64, reply uint64, f *header.Fault) {
	if len(got.Writes) != len(offered.Writes) {
		return to, 0, &header.Fault{Code: header.FaultReturnCount, Where: "write list", Found: uint64(len(got.Writes)), Want: uint64(len(offered.Writes))}
	}
	for i := range got.Writes {
		n, f := returned(offered.Writes[i], got.Writes[i], "write chunk", i)
		if f != nil {
			return to, 0, f
		}
		to = append(to, n)
	}
	if got.HasReply && !offered.HasReply {
		return to, 0, &header.Fault{Code: header.FaultReturnCount, Where: "reply chunk", Found: 1}
	}
	// A missing reply chunk was not used: some responders omit it from an inline Reply.
	reply, f = returned(offered.Reply, got.Reply, "reply chunk", 0)
	return to, reply, f
}

// returned checks a chunk that was returned, and returns the number of bytes in it.
func returned(offered, got []header.Segment, where string, index int) (n uint64, f *header.Fault) {
	if len(got) == 0 {
		return 0, nil
	}
	fault := func(c header.Code, found, want uint64) (uint64, *header.Fault) {
		return 0, &header.Fault{Code: c, Where: where, Index: index, Found: found, Want: want}
	}
	if len(got) != len(offered) {
		return fault(header.FaultReturnCount, uint64(len(got)), uint64(len(offered)))
	}
	room := uint64(0) // left in earlier segments
	for i := range got {
		g, o := &got[i], &offered[i]
		switch {
		case g.Handle != o.Handle:
			return fault(header.FaultReturnRange, uint64(g.Handle), uint64(o.Handle))
		case g.Offset != o.Offset:
			return fault(header.FaultReturnRange, g.Offset, o.Offset)
		case g.Length > o.Length:
			return fault(header.FaultReturnMore, uint64(g.Length), uint64(o.Length))
		case g.Length > 0 && room > 0:
			return fault(header.FaultReturnHole, uint64(g.Length), room)
		}
		n += uint64(g.Length)
		room += uint64(o.Length - g.Length)
	}
	return n, nil
}
