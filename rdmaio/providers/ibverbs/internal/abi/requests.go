package abi

// Sizes of structures in bytes.
const (
	SendWRSize = 128
	RecvWRSize = 32
	SGESize    = 16
	WCSize     = 48
)

// SGE is an ibv_sge.
type SGE struct {
	Addr   uintptr
	Length uint32
	LKey   uint32
}

// Put writes e to the first SGESize bytes of b.
func (e SGE) Put(b []byte) {
	put64(b, 0, uint64(e.Addr))
	put32(b, 8, e.Length)
	put32(b, 12, e.LKey)
}

// GetSGE reads an SGE.
func GetSGE(b []byte) SGE {
	return SGE{Addr: uintptr(get64(b, 0)), Length: get32(b, 8), LKey: get32(b, 12)}
}

// SendWR is an ibv_send_wr.
type SendWR struct {
	ID     uint64
	Next   uintptr
	SGL    uintptr // of NumSGE elements
	NumSGE uint32
	Opcode Opcode
	Flags  SendFlags

	// Invalidate is the key that OpSendInv and OpLocalInv name. It shares its place with the
	// immediate data.
	Invalidate uint32

	RemoteAddr uint64 // for OpWrite and OpRead
	RKey       uint32

	Bind Bind // for OpBindMW
}

// Bind is the part of a SendWR for OpBindMW.
type Bind struct {
	MW     uintptr
	RKey   uint32 // the new key
	MR     uintptr
	Addr   uint64
	Length uint64
	Access Access
}

// Put writes w to the first SendWRSize bytes of b.
func (w *SendWR) Put(b []byte) {
	put64(b, 0, w.ID)
	put64(b, 8, uint64(w.Next))
	put64(b, 16, uint64(w.SGL))
	put32(b, 24, w.NumSGE)
	put32(b, 28, uint32(w.Opcode))
	put32(b, 32, uint32(w.Flags))
	put32(b, 36, w.Invalidate)
	put64(b, 40, w.RemoteAddr)
	put64(b, 48, uint64(w.RKey))
	put64(b, 80, uint64(w.Bind.MW))
	put64(b, 88, uint64(w.Bind.RKey))
	put64(b, 96, uint64(w.Bind.MR))
	put64(b, 104, w.Bind.Addr)
	put64(b, 112, w.Bind.Length)
	put64(b, 120, uint64(w.Bind.Access))
}

// GetSendWR reads a SendWR.
func GetSendWR(b []byte) SendWR {
	return SendWR{
		ID: get64(b, 0), Next: uintptr(get64(b, 8)), SGL: uintptr(get64(b, 16)), NumSGE: get32(b, 24),
		Opcode: Opcode(get32(b, 28)), Flags: SendFlags(get32(b, 32)), Invalidate: get32(b, 36),
		RemoteAddr: get64(b, 40), RKey: get32(b, 48),
		Bind: Bind{
			MW: uintptr(get64(b, 80)), RKey: get32(b, 88), MR: uintptr(get64(b, 96)),
			Addr: get64(b, 104), Length: get64(b, 112), Access: Access(get32(b, 120)),
		},
	}
}

// SetNext sets the link to the next request of the ibv_send_wr or ibv_recv_wr at b.
func SetNext(b []byte, next uintptr) { put64(b, 8, uint64(next)) }

// RecvWR is an ibv_recv_wr.
type RecvWR struct {
	ID     uint64
	Next   uintptr
	SGL    uintptr
	NumSGE uint32
}

// Put writes w to the first RecvWRSize bytes of b.
func (w *RecvWR) Put(b []byte) {
	put64(b, 0, w.ID)
	put64(b, 8, uint64(w.Next))
	put64(b, 16, uint64(w.SGL))
	put32(b, 24, w.NumSGE)
}

// GetRecvWR reads a RecvWR.
func GetRecvWR(b []byte) RecvWR {
	return RecvWR{ID: get64(b, 0), Next: uintptr(get64(b, 8)), SGL: uintptr(get64(b, 16)), NumSGE: get32(b, 24)}
}

// WC is an ibv_wc. Of one whose Status is not StatusSuccess, only ID, Status, VendorErr and QPNum
// are valid.
type WC struct {
	ID             uint64
	Status         Status
	Opcode         WCOpcode
	VendorErr      uint32
	ByteLen        uint32
	InvalidatedKey uint32 // if Flags has WithInv; shares its place with the immediate data
	QPNum          uint32
	Flags          WCFlags
}

// Put writes c to the first WCSize bytes of b.
func (c *WC) Put(b []byte) {
	put64(b, 0, c.ID)
	put32(b, 8, uint32(c.Status))
	put32(b, 12, uint32(c.Opcode))
	put32(b, 16, c.VendorErr)
	put32(b, 20, c.ByteLen)
	put32(b, 24, c.InvalidatedKey)
	put32(b, 28, c.QPNum)
	put32(b, 36, uint32(c.Flags))
}

// GetWC reads a WC.
func GetWC(b []byte) WC {
	return WC{
		ID: get64(b, 0), Status: Status(get32(b, 8)), Opcode: WCOpcode(get32(b, 12)), VendorErr: get32(b, 16),
		ByteLen: get32(b, 20), InvalidatedKey: get32(b, 24), QPNum: get32(b, 28), Flags: WCFlags(get32(b, 36)),
	}
}
