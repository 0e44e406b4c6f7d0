package abi

// Sizes of the parts of objects that the provider reads, in bytes.
const (
	ContextSize     = 276
	DeviceSize      = 664
	PDSize          = 16
	MRSize          = 48
	MWSize          = 32
	CQSize          = 32
	CompChannelSize = 16
	QPSize          = 64
)

// Op is the offset in an ibv_context of the pointer to a function of the device's library.
type Op int

// The functions that are not exported, because the headers call them through the context.
const (
	OpAllocMW   Op = 64
	OpDeallocMW Op = 80
	OpPollCQ    Op = 96
	OpReqNotify Op = 104
	OpPostSend  Op = 208
	OpPostRecv  Op = 216
)

// ContextFields are fields of an ibv_context.
type ContextFields struct {
	Device  uintptr
	AsyncFD int
	Vectors int // completion vectors
}

// Put writes f to an ibv_context at b.
func (f ContextFields) Put(b []byte) {
	put64(b, 0, uint64(f.Device))
	put32(b, 268, uint32(f.AsyncFD))
	put32(b, 272, uint32(f.Vectors))
}

// Context reads the fields of the ibv_context at p.
func Context(p uintptr) ContextFields {
	b := At(p, ContextSize)
	return ContextFields{Device: uintptr(get64(b, 0)), AsyncFD: int(int32(get32(b, 268))), Vectors: int(int32(get32(b, 272)))}
}

// OpOf returns the address of a function of the ibv_context at p, or 0 if the device has none.
func OpOf(p uintptr, op Op) uintptr { return uintptr(get64(At(p, ContextSize), int(op))) }

// DeviceFields are fields of an ibv_device.
type DeviceFields struct {
	Transport Transport
	Name      string // "mlx5_0", at most 63 bytes
	DevName   string // "uverbs0"
}

// Put writes f to an ibv_device at b.
func (f DeviceFields) Put(b []byte) {
	put32(b, 20, uint32(f.Transport))
	copy(b[24:87], f.Name)
	copy(b[88:151], f.DevName)
}

// Device reads the fields of the ibv_device at p.
func Device(p uintptr) DeviceFields {
	b := At(p, 152)
	return DeviceFields{Transport: Transport(get32(b, 20)), Name: text(b[24:88]), DevName: text(b[88:152])}
}

// MRFields are fields of an ibv_mr.
type MRFields struct{ LKey, RKey uint32 }

// Put writes f to an ibv_mr at b.
func (f MRFields) Put(b []byte) { put32(b, 36, f.LKey); put32(b, 40, f.RKey) }

// MR reads the fields of the ibv_mr at p.
func MR(p uintptr) MRFields {
	b := At(p, MRSize)
	return MRFields{LKey: get32(b, 36), RKey: get32(b, 40)}
}

// MWKey returns the key of the ibv_mw at p.
func MWKey(p uintptr) uint32 { return get32(At(p, MWSize), 16) }

// SetMWKey sets the key of the ibv_mw at p, as a program does after it has posted a bind.
func SetMWKey(p uintptr, key uint32) { put32(At(p, MWSize), 16, key) }

// CQEntries returns the number of entries of the ibv_cq at p.
func CQEntries(p uintptr) int { return int(int32(get32(At(p, CQSize), 28))) }

// PutCQ writes the fields of an ibv_cq at b.
func PutCQ(b []byte, entries int) { put32(b, 28, uint32(entries)) }

// CompChannelFD returns the file descriptor of the ibv_comp_channel at p.
func CompChannelFD(p uintptr) int { return int(int32(get32(At(p, CompChannelSize), 8))) }

// PutCompChannel writes the file descriptor of an ibv_comp_channel at b.
func PutCompChannel(b []byte, fd int) { put32(b, 8, uint32(fd)) }

// QPNum returns the number of the ibv_qp at p.
func QPNum(p uintptr) uint32 { return get32(At(p, QPSize), 52) }

// PutQP writes the number of an ibv_qp at b.
func PutQP(b []byte, num uint32) { put32(b, 52, num) }

// AsyncEventSize is the size of an ibv_async_event in bytes.
const AsyncEventSize = 16

// AsyncEvent is an ibv_async_event.
type AsyncEvent struct {
	Element uintptr // the ibv_qp or ibv_cq; a port's number for events of ports
	Type    AsyncType
}

// Put writes e to the first AsyncEventSize bytes of b.
func (e AsyncEvent) Put(b []byte) { put64(b, 0, uint64(e.Element)); put32(b, 8, uint32(e.Type)) }

// GetAsyncEvent reads an AsyncEvent.
func GetAsyncEvent(b []byte) AsyncEvent {
	return AsyncEvent{Element: uintptr(get64(b, 0)), Type: AsyncType(get32(b, 8))}
}

// Port returns the number of the port that an event of a port is about.
func (e AsyncEvent) Port() int { return int(int32(uint32(e.Element))) }
