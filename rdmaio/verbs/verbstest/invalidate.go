package verbstest

import "github.com/rpcrdma/rpcrdma/rdmaio/verbs"

// R290: after Invalidate has returned, the peer cannot use the key.
func testInvalidateCall(h *harness) {
	for _, op := range []verbs.Opcode{verbs.RDMAWrite, verbs.RDMARead} {
		for name, kill := range map[string]func(verbs.MemoryRegion) error{
			"invalidated":  verbs.MemoryRegion.Invalidate,
			"deregistered": verbs.MemoryRegion.Deregister,
		} {
			h.refused(name, op, 8, func(c, s *end) (verbs.MemoryRegion, verbs.SendWR) {
				mr := s.region(8, remoteRW)
				s.h.must(name, kill(mr))
				return mr, verbs.SendWR{RKey: mr.RKey(), RemoteAddr: mr.RemoteAddr()}
			})
		}
	}
	e := h.newEnd(h.Server, verbs.QPConfig{})
	mr := e.region(8, remoteRW)
	h.check("invalidate", mr.Invalidate())
	h.check("invalidate again", mr.Invalidate())
	if mr.State() != verbs.MRInvalid {
		h.Errorf("state %v", mr.State())
	}
	h.must("deregister", mr.Deregister())
	h.wantErr("invalidate a deregistered region", mr.Invalidate(), verbs.ErrClosed)
	h.wantErr("reregister a deregistered region", mr.Reregister(mr.Bytes(), 0), verbs.ErrClosed)
}

// window returns the rights of a region that a request can invalidate, with remoteRW. The case is
// skipped if the device has no such region.
func (h *harness) window() verbs.Access {
	h.Helper()
	switch a := h.Client.Attributes(); {
	case !a.InvalidateWindowsOnly:
		return remoteRW
	case !a.RemoteInvalidate:
		h.Skip("requests invalidate windows only, and the device does not have windows")
	}
	return remoteRW | verbs.AccessRemoteInvalidate
}

// A LocalInvalidate invalidates a region in the order of the queue. With an unknown key it
// breaks the connection.
func testLocalInvalidate(h *harness) {
	access := h.window()
	c, _ := h.connected()
	mr := c.region(8, access)
	id := c.post(verbs.SendWR{Opcode: verbs.LocalInvalidate, Flags: signaled, InvalidateRKey: mr.RKey()})
	c.ok(id, verbs.WC{Opcode: verbs.WCLocalInvalidate})
	if mr.State() != verbs.MRInvalid {
		h.Errorf("state %v after local invalidate", mr.State())
	}
	_, err := c.qp.PostSend([]verbs.SendWR{{Opcode: verbs.Send, SGL: []verbs.SGE{whole(mr)}}})
	h.wantErr("send from an invalid region", err, verbs.ErrAccess)

	other := h.newEnd(h.Client, verbs.QPConfig{}).region(8, remoteRW)
	for name, key := range map[string]uint32{"invalid already": mr.RKey(), "foreign domain": other.RKey(), "none": 0} {
		h.Run(name, func(h *harness) {
			h.Precise = true // the error is local, so its status is known
			c, s := h.connected()
			s.recvs(1, 8)
			id := c.post(verbs.SendWR{Opcode: verbs.LocalInvalidate, Flags: signaled, InvalidateRKey: key})
			h.broken(c, s, id, verbs.StatusLocalProtection, verbs.StatusFlushed)
		})
	}
	if other.State() != verbs.MRValid {
		h.Errorf("region of another domain is %v", other.State())
	}
}

func needRemoteInvalidate(h *harness) {
	h.Helper()
	if h.Client.Attributes().RemoteInvalidate && h.Server.Attributes().RemoteInvalidate {
		return
	}
	c, s := h.connected()
	for _, e := range []*end{c, s} {
		if !e.dev.Attributes().RemoteInvalidate {
			_, err := e.qp.PostSend([]verbs.SendWR{{Opcode: verbs.SendWithInvalidate, InvalidateRKey: 1}})
			h.wantErr("send with invalidate", err, verbs.ErrNotSupported)
		}
	}
	h.fresh(c, s)
	h.Skip("the device cannot invalidate remotely")
}

// SendWithInvalidate invalidates the peer's region, and the Receive reports its key.
func testRemoteInvalidate(h *harness) {
	needRemoteInvalidate(h)
	c, s := h.connected()
	mr := c.region(8, remoteRW|verbs.AccessRemoteInvalidate)
	other := c.region(8, remoteRW|verbs.AccessRemoteInvalidate)
	r := c.recv(whole(c.region(8, verbs.AccessLocalWrite)))
	id := s.post(verbs.SendWR{Opcode: verbs.SendWithInvalidate, Flags: signaled, InvalidateRKey: mr.RKey(), SGL: []verbs.SGE{s.text("bye")}})
	// The server is not the initiator, which some protocols require to send first.
	s.recvs(1, 8)
	hello := c.send(c.text("hi"))
	for range 2 {
		switch wc := c.wait(1)[0]; wc.WRID {
		case r:
			if want := (verbs.WC{WRID: r, Opcode: verbs.WCRecv, QPNum: c.qp.Num(), ByteLen: 3, InvalidatedRKey: mr.RKey()}); wc != want {
				h.Errorf("completion %+v, want %+v", wc, want)
			}
		case hello:
		default:
			h.Errorf("completion %+v", wc)
		}
	}
	s.wait(2)
	_ = id
	if mr.State() != verbs.MRInvalid || other.State() != verbs.MRValid {
		h.Errorf("states %v and %v, want only the first invalid", mr.State(), other.State())
	}
	h.check("invalidate after the peer did", mr.Invalidate())
	late := s.post(remote(verbs.RDMAWrite, mr, 0, s.text("12345678")))
	h.broken(s, c, late, verbs.StatusRemoteAccess, verbs.StatusFlushed)
}

// RFC 5042 §6.4.5: a peer can invalidate only a valid region of its connection's domain that has
// the right for it. With DeviceAttributes.InvalidateWindowsOnly the right is not checked, and a
// region without it may be invalidated.
func testRemoteInvalidateRefused(h *harness) {
	needRemoteInvalidate(h)
	const all = remoteRW | verbs.AccessRemoteInvalidate
	for name, key := range map[string]func(h *harness, s *end) (verbs.MemoryRegion, uint32){
		"zero": func(h *harness, s *end) (verbs.MemoryRegion, uint32) { return nil, 0 },
		"unknown": func(h *harness, s *end) (verbs.MemoryRegion, uint32) {
			mr := s.region(8, all)
			return mr, mr.RKey() ^ 1<<31
		},
		"stale": func(h *harness, s *end) (verbs.MemoryRegion, uint32) {
			mr := s.region(8, all)
			old := mr.RKey()
			h.must("invalidate", mr.Invalidate())
			h.must("reregister", mr.Reregister(mr.Bytes(), all))
			return mr, old
		},
		"no right": func(h *harness, s *end) (verbs.MemoryRegion, uint32) {
			mr := s.region(8, remoteRW)
			return mr, mr.RKey()
		},
		"foreign domain": func(h *harness, s *end) (verbs.MemoryRegion, uint32) {
			mr := h.newEnd(h.Server, verbs.QPConfig{}).region(8, all)
			return mr, mr.RKey()
		},
	} {
		h.Run(name, func(h *harness) {
			if name == "no right" && h.Server.Attributes().InvalidateWindowsOnly {
				h.Skip("the device cannot deny the right")
			}
			c, s := h.connected()
			s.recvs(1, 8)
			mr, k := key(h, s)
			id := c.post(verbs.SendWR{Opcode: verbs.SendWithInvalidate, Flags: signaled, InvalidateRKey: k})
			h.broken(c, s, id, verbs.StatusRemoteAccess, verbs.StatusFlushed)
			if mr != nil && mr.State() != verbs.MRValid {
				h.Errorf("region is %v", mr.State())
			}
		})
	}
}

// R301: a region that is registered again has a new key, and the old one is invalid.
func testReregister(h *harness) {
	c, s := h.connected()
	mr := s.region(64, remoteRW)
	h.wantErr("reregister a valid region", mr.Reregister(mr.Bytes(), remoteRW), verbs.ErrBusy)
	old := remote(verbs.RDMARead, mr, 0, whole(c.region(4, verbs.AccessLocalWrite)))
	h.must("invalidate", mr.Invalidate())
	h.wantErr("bad rights", mr.Reregister(mr.Bytes(), verbs.AccessRemoteWrite), verbs.ErrInvalidValue)
	h.must("reregister", mr.Reregister(mr.Bytes()[16:24], verbs.AccessRemoteRead))
	if mr.RKey() == old.RKey || len(mr.Bytes()) != 8 || mr.Access() != verbs.AccessRemoteRead || mr.State() != verbs.MRValid {
		h.Errorf("region after reregister: key %#x (was %#x), %d bytes, %v, %v", mr.RKey(), old.RKey, len(mr.Bytes()), mr.Access(), mr.State())
	}
	c.post(remote(verbs.RDMARead, mr, 4, whole(c.region(4, verbs.AccessLocalWrite))))
	if wc := c.wait(1)[0]; wc.Err() != nil {
		h.Errorf("read with the new key: %v", wc.Err())
	}
	s.recvs(1, 8)
	h.broken(c, s, c.post(old), verbs.StatusRemoteAccess, verbs.StatusFlushed)
}
