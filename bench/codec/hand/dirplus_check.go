package hand

// CheckDirplus returns the length of the reply at the front of b if Decode
// would accept it.
func CheckDirplus(b []byte) (int, error) {
	if len(b) < 8 {
		return 0, fail(Short, len(b))
	}
	status := Status(be.Uint32(b))
	if !knownStatus(status) {
		return 0, fail(BadEnum, 0)
	}
	p, f := checkOptAttr(b[4:])
	if f != 0 {
		return 0, fail(f, len(b)-len(p))
	}
	if status != OK {
		return len(b) - len(p), nil
	}
	if len(p) < VerifierSize+4 {
		return 0, fail(Short, len(b))
	}
	flag := be.Uint32(p[VerifierSize:])
	p = p[VerifierSize+4:]
	for flag == 1 {
		if p, f = checkEntry(p); f != 0 {
			return 0, fail(f, len(b)-len(p))
		}
		if len(p) < 4 {
			return 0, fail(Short, len(b))
		}
		flag = be.Uint32(p)
		p = p[4:]
	}
	if flag != 0 {
		return 0, fail(BadBool, len(b)-len(p)-4)
	}
	if len(p) < 4 {
		return 0, fail(Short, len(b))
	}
	if be.Uint32(p) > 1 {
		return 0, fail(BadBool, len(b)-len(p))
	}
	return len(b) - len(p) + 4, nil
}

func checkEntry(p []byte) ([]byte, Fault) {
	if len(p) < 12 {
		return p, Short
	}
	size := uint(be.Uint32(p[8:]))
	if size > NameMax {
		return p[8:], TooLong
	}
	pad := -size & 3
	end := 12 + size + pad
	if uint(len(p)) < end+12 {
		return p[8:], Short
	}
	if be.Uint32(p[end-4:])&(1<<(8*pad)-1) != 0 {
		return p[8:], BadPad
	}
	p, f := checkOptAttr(p[end+8:])
	if f != 0 {
		return p, f
	}
	if len(p) < 4 {
		return p, Short
	}
	flag := be.Uint32(p)
	if flag == 0 {
		return p[4:], 0
	}
	if flag != 1 {
		return p, BadBool
	}
	p = p[4:]
	if len(p) < 4 {
		return p, Short
	}
	size = uint(be.Uint32(p))
	if size > HandleMax {
		return p, TooLong
	}
	pad = -size & 3
	end = 4 + size + pad
	if uint(len(p)) < end {
		return p, Short
	}
	if be.Uint32(p[end-4:])&(1<<(8*pad)-1) != 0 {
		return p, BadPad
	}
	return p[end:], 0
}

func checkOptAttr(p []byte) ([]byte, Fault) {
	if len(p) < 4 {
		return p, Short
	}
	flag := be.Uint32(p)
	if flag == 0 {
		return p[4:], 0
	}
	if flag != 1 {
		return p, BadBool
	}
	if len(p) < 4+attrSize {
		return p, Short
	}
	if FileType(be.Uint32(p[4:]))-File > Pipe-File {
		return p[4:], BadEnum
	}
	return p[4+attrSize:], 0
}
