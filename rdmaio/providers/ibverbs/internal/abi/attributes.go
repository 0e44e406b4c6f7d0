package abi

// Sizes of structures in bytes. The library writes at most so many bytes of a port's attributes.
const (
	DeviceAttrSize = 232
	PortAttrSize   = 64
	QPInitAttrSize = 64
	QPAttrSize     = 144
)

// DeviceAttr holds fields of an ibv_device_attr.
type DeviceAttr struct {
	Firmware     string
	NodeGUID     [8]byte // in network byte order
	MaxMRSize    uint64
	VendorID     uint32
	PartID       uint32
	HWVersion    uint32
	MaxQP        int
	MaxQPWR      int
	Caps         DeviceCaps
	MaxSGE       int
	MaxReadSGE   int
	MaxCQ        int
	MaxCQE       int
	MaxMR        int
	MaxPD        int
	MaxResponder int // Reads of a peer that a queue pair serves at once
	MaxInitiator int // Reads that a queue pair may have outstanding
	MaxMW        int
	Ports        int
}

// Put writes a to the first DeviceAttrSize bytes of b.
func (a *DeviceAttr) Put(b []byte) {
	copy(b[:63], a.Firmware)
	copy(b[64:72], a.NodeGUID[:])
	put64(b, 80, a.MaxMRSize)
	b[227] = byte(a.Ports)
	for _, f := range []struct {
		at int
		v  uint32
	}{
		{96, a.VendorID}, {100, a.PartID}, {104, a.HWVersion}, {108, uint32(a.MaxQP)}, {112, uint32(a.MaxQPWR)},
		{116, uint32(a.Caps)}, {120, uint32(a.MaxSGE)}, {124, uint32(a.MaxReadSGE)}, {128, uint32(a.MaxCQ)},
		{132, uint32(a.MaxCQE)}, {136, uint32(a.MaxMR)}, {140, uint32(a.MaxPD)}, {144, uint32(a.MaxResponder)},
		{156, uint32(a.MaxInitiator)}, {176, uint32(a.MaxMW)},
	} {
		put32(b, f.at, f.v)
	}
}

// GetDeviceAttr reads a DeviceAttr.
func GetDeviceAttr(b []byte) DeviceAttr {
	num := func(at int) int { return int(int32(get32(b, at))) }
	return DeviceAttr{
		Firmware: text(b[:64]), NodeGUID: [8]byte(b[64:72]), MaxMRSize: get64(b, 80), VendorID: get32(b, 96),
		PartID: get32(b, 100), HWVersion: get32(b, 104), MaxQP: num(108), MaxQPWR: num(112),
		Caps: DeviceCaps(get32(b, 116)), MaxSGE: num(120), MaxReadSGE: num(124), MaxCQ: num(128), MaxCQE: num(132),
		MaxMR: num(136), MaxPD: num(140), MaxResponder: num(144), MaxInitiator: num(156), MaxMW: num(176),
		Ports: int(b[227]),
	}
}

// PortAttr holds fields of an ibv_port_attr.
type PortAttr struct {
	State      PortState
	MaxMTU     int // an ibv_mtu: 256 bytes << (n - 1)
	ActiveMTU  int
	GIDs       int
	MaxMessage uint32
	PKeys      int
	LID        uint16
	Width      uint8
	Speed      uint8
	Link       LinkLayer
}

// Put writes a to the first PortAttrSize bytes of b.
func (a *PortAttr) Put(b []byte) {
	put32(b, 0, uint32(a.State))
	put32(b, 4, uint32(a.MaxMTU))
	put32(b, 8, uint32(a.ActiveMTU))
	put32(b, 12, uint32(a.GIDs))
	put32(b, 20, a.MaxMessage)
	put16(b, 32, uint16(a.PKeys))
	put16(b, 34, a.LID)
	b[43], b[44], b[46] = a.Width, a.Speed, uint8(a.Link)
}

// GetPortAttr reads a PortAttr.
func GetPortAttr(b []byte) PortAttr {
	return PortAttr{
		State: PortState(get32(b, 0)), MaxMTU: int(get32(b, 4)), ActiveMTU: int(get32(b, 8)), GIDs: int(get32(b, 12)),
		MaxMessage: get32(b, 20), PKeys: int(get16(b, 32)), LID: get16(b, 34), Width: b[43], Speed: b[44], Link: LinkLayer(b[46]),
	}
}

// QPInitAttr is an ibv_qp_init_attr of a reliable connection. The library replaces the limits by
// those that it gives.
type QPInitAttr struct {
	SendCQ, RecvCQ                                          uintptr
	MaxSendWR, MaxRecvWR, MaxSendSGE, MaxRecvSGE, MaxInline int
	SignalAll                                               bool
}

// Put writes a to the first QPInitAttrSize bytes of b.
func (a *QPInitAttr) Put(b []byte) {
	put64(b, 8, uint64(a.SendCQ))
	put64(b, 16, uint64(a.RecvCQ))
	put32(b, 32, uint32(a.MaxSendWR))
	put32(b, 36, uint32(a.MaxRecvWR))
	put32(b, 40, uint32(a.MaxSendSGE))
	put32(b, 44, uint32(a.MaxRecvSGE))
	put32(b, 48, uint32(a.MaxInline))
	put32(b, 52, QPTypeRC)
	put32(b, 56, 0)
	if a.SignalAll {
		put32(b, 56, 1)
	}
}

// GetQPInitAttr reads a QPInitAttr.
func GetQPInitAttr(b []byte) QPInitAttr {
	return QPInitAttr{
		SendCQ: uintptr(get64(b, 8)), RecvCQ: uintptr(get64(b, 16)), MaxSendWR: int(get32(b, 32)), MaxRecvWR: int(get32(b, 36)),
		MaxSendSGE: int(get32(b, 40)), MaxRecvSGE: int(get32(b, 44)), MaxInline: int(get32(b, 48)), SignalAll: get32(b, 56) != 0,
	}
}

// QPAttr holds the fields of an ibv_qp_attr that the provider sets; a QPMask says which.
type QPAttr struct {
	State  QPState
	Access Access
	PKey   uint16
	Port   uint8
}

// Put writes a to the first QPAttrSize bytes of b.
func (a QPAttr) Put(b []byte) {
	put32(b, 0, uint32(a.State))
	put32(b, 32, uint32(a.Access))
	put16(b, 120, a.PKey)
	b[129] = a.Port
}

// GetQPAttr reads a QPAttr.
func GetQPAttr(b []byte) QPAttr {
	return QPAttr{State: QPState(get32(b, 0)), Access: Access(get32(b, 32)), PKey: get16(b, 120), Port: b[129]}
}
