package hand

// CheckDirplus returns the length of the reply at the front of b if Decode
// would accept it.
func CheckDirplus(b []byte) (int, error) {
	if len(b) < 4 {
		return 0, fail(Short, 0)
	}
	status := Status(be.Uint32(b))
	if !knownStatus(status) {
		return 0, fail(BadEnum, 0)
	}
	off, f := checkOptAttr(b, 4)
	if f != 0 {
		return 0, fail(f, off)
	}
	if status != OK {
		return off, nil
	}
	if len(b)-off < VerifierSize+4 {
		return 0, fail(Short, off)
	}
	off += VerifierSize + 4
	flag := be.Uint32(b[off-4 : off : off])
	for flag == 1 {
		if off, f = checkEntry(b, off); f != 0 {
			return 0, fail(f, off)
		}
		if len(b)-off < 4 {
			return 0, fail(Short, off)
		}
		flag = be.Uint32(b[off : off+4 : off+4])
		off += 4
	}
	if flag != 0 {
		return 0, fail(BadBool, off-4)
	}
	if len(b)-off < 4 {
		return 0, fail(Short, off)
	}
	if be.Uint32(b[off:off+4:off+4]) > 1 {
		return 0, fail(BadBool, off)
	}
	return off + 4, nil
}

func checkEntry(b []byte, off int) (int, Fault) {
	if len(b)-off < 8 {
		return off, Short
	}
	off, f := checkBounded(b, off+8, NameMax)
	if f != 0 {
		return off, f
	}
	if len(b)-off < 8 {
		return off, Short
	}
	if off, f = checkOptAttr(b, off+8); f != 0 {
		return off, f
	}
	if len(b)-off < 4 {
		return off, Short
	}
	switch be.Uint32(b[off : off+4 : off+4]) {
	case 0:
		return off + 4, 0
	case 1:
		return checkBounded(b, off+4, HandleMax)
	}
	return off, BadBool
}

func checkBounded(b []byte, off int, limit uint) (int, Fault) {
	if len(b)-off < 4 {
		return off, Short
	}
	size := uint(be.Uint32(b[off : off+4 : off+4]))
	if size > limit {
		return off, TooLong
	}
	pad := -size & 3
	if uint(len(b)-off-4) < size+pad {
		return off, Short
	}
	end := off + 4 + int(size+pad)
	if be.Uint32(b[end-4:end:end])&(1<<(8*pad)-1) != 0 {
		return off, BadPad
	}
	return end, 0
}

func checkOptAttr(b []byte, off int) (int, Fault) {
	if len(b)-off < 4 {
		return off, Short
	}
	switch be.Uint32(b[off : off+4 : off+4]) {
	case 0:
		return off + 4, 0
	case 1:
	default:
		return off, BadBool
	}
	off += 4
	if len(b)-off < attrSize {
		return off, Short
	}
	if FileType(be.Uint32(b[off:off+4:off+4]))-File > Pipe-File {
		return off, BadEnum
	}
	return off + attrSize, 0
}
