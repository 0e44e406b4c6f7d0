package hand

// CheckHeader returns the length of the header at the front of b if Decode
// would accept it.
func CheckHeader(b []byte) (int, error) {
	if len(b) < fixedSize {
		return 0, fail(Short, 0)
	}
	off := fixedSize
	switch Proc(be.Uint32(b[12:])) {
	case Msg, NoMsg:
	case MsgP:
		off += 8
	case Done:
		return off, nil
	case ErrorProc:
		var h Header
		return h.decodeError(b)
	default:
		return 0, fail(BadEnum, 12)
	}
	if len(b) < off {
		return 0, fail(Short, fixedSize)
	}
	off, f := checkLists(b, off)
	if f != 0 {
		return 0, fail(f, off)
	}
	return off, nil
}

func checkLists(b []byte, off int) (int, Fault) {
	if len(b)-off < 4 {
		return off, Short
	}
	flag := be.Uint32(b[off : off+4 : off+4])
	off += 4
	for flag == 1 {
		if len(b)-off < readSize+4 {
			return off, Short
		}
		off += 24
		flag = be.Uint32(b[off-4 : off : off])
	}
	if flag != 0 {
		return off - 4, BadBool
	}
	if len(b)-off < 4 {
		return off, Short
	}
	flag = be.Uint32(b[off : off+4 : off+4])
	off += 4
	for flag == 1 {
		if len(b)-off < 8 {
			return off, Short
		}
		n := int(be.Uint32(b[off : off+4 : off+4]))
		if uint(n) > uint(len(b)-off-8)/segmentSize {
			return off, Short
		}
		off += 8 + n*segmentSize
		flag = be.Uint32(b[off-4 : off : off])
	}
	if flag != 0 {
		return off - 4, BadBool
	}
	if len(b)-off < 4 {
		return off, Short
	}
	flag = be.Uint32(b[off : off+4 : off+4])
	if flag == 0 {
		return off + 4, 0
	}
	if flag != 1 {
		return off, BadBool
	}
	off += 4
	if len(b)-off < 4 {
		return off, Short
	}
	n := int(be.Uint32(b[off : off+4 : off+4]))
	if uint(n) > uint(len(b)-off-4)/segmentSize {
		return off, Short
	}
	return off + 4 + n*segmentSize, 0
}
