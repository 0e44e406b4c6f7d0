package abi

// Sizes of structures in bytes, or of their part that the provider reads.
const (
	EventChannelSize = 4
	CMIDSize         = 352
	CMEventSize      = 80
	ConnParamSize    = 24
	SockaddrSize     = 128 // sockaddr_storage
)

// EventChannelFD returns the file descriptor of the rdma_event_channel at p.
func EventChannelFD(p uintptr) int { return int(int32(get32(At(p, EventChannelSize), 0))) }

// PutEventChannel writes the file descriptor of an rdma_event_channel at b.
func PutEventChannel(b []byte, fd int) { put32(b, 0, uint32(fd)) }

// CMID has fields of an rdma_cm_id.
type CMID struct {
	Verbs   uintptr // the ibv_context, once the address is resolved
	Context uintptr // the caller's
	QP      uintptr
	Src     []byte // a sockaddr_storage
	Dst     []byte
	Port    uint8 // of the device, from 1
}

// GetCMID reads the rdma_cm_id at p. Src and Dst refer to the library's memory.
func GetCMID(p uintptr) CMID {
	b := At(p, CMIDSize)
	return CMID{
		Verbs: uintptr(get64(b, 0)), Context: uintptr(get64(b, 16)), QP: uintptr(get64(b, 24)),
		Src: b[32 : 32+SockaddrSize], Dst: b[160 : 160+SockaddrSize], Port: b[348],
	}
}

// Put writes f to an rdma_cm_id at b.
func (f *CMID) Put(b []byte) {
	put64(b, 0, uint64(f.Verbs))
	put64(b, 16, uint64(f.Context))
	put64(b, 24, uint64(f.QP))
	copy(b[32:32+SockaddrSize], f.Src)
	copy(b[160:160+SockaddrSize], f.Dst)
	b[348] = f.Port
}

// SetCMQP stores the ibv_qp that the library moves through its states in the rdma_cm_id at p. It is
// cleared, with 0, before the rdma_cm_id is destroyed, if the caller destroys the queue pair.
func SetCMQP(p, qp uintptr) { put64(At(p, CMIDSize), 24, uint64(qp)) }

// SetCMContext stores the caller's value in the rdma_cm_id at p.
func SetCMContext(p, v uintptr) { put64(At(p, CMIDSize), 16, uint64(v)) }

// CMEvent is an rdma_cm_event of a connection.
type CMEvent struct {
	ID       uintptr
	ListenID uintptr // of a CMConnectRequest
	Type     CMEventType
	Status   int32 // 0, a negative errno, or the reason of CMRejected

	PrivateData []byte // a copy
	Responder   uint8  // this side's view over InfiniBand, the peer's over iWARP
	Initiator   uint8
}

// GetCMEvent reads the rdma_cm_event at p.
func GetCMEvent(p uintptr) CMEvent {
	b := At(p, CMEventSize)
	e := CMEvent{
		ID: uintptr(get64(b, 0)), ListenID: uintptr(get64(b, 8)), Type: CMEventType(get32(b, 16)), Status: int32(get32(b, 20)),
		Responder: b[33], Initiator: b[34],
	}
	if data, n := uintptr(get64(b, 24)), int(b[32]); data != 0 && n > 0 {
		e.PrivateData = append([]byte(nil), At(data, n)...)
	}
	return e
}

// Put writes e to the first CMEventSize bytes of b. data is the address of its private data, or 0.
func (e *CMEvent) Put(b []byte, data uintptr) {
	put64(b, 0, uint64(e.ID))
	put64(b, 8, uint64(e.ListenID))
	put32(b, 16, uint32(e.Type))
	put32(b, 20, uint32(e.Status))
	put64(b, 24, uint64(data))
	b[32], b[33], b[34] = byte(len(e.PrivateData)), e.Responder, e.Initiator
}

// ConnParam is an rdma_conn_param.
type ConnParam struct {
	Data      uintptr // private data of DataLen bytes
	DataLen   uint8
	Responder uint8
	Initiator uint8
	Flow      uint8
	Retry     uint8 // 0 to 7
	RNRRetry  uint8 // 0 to 6; 7 means without a limit
	QPNum     uint32
}

// Put writes p to the first ConnParamSize bytes of b.
func (p *ConnParam) Put(b []byte) {
	put64(b, 0, uint64(p.Data))
	b[8], b[9], b[10], b[11], b[12], b[13] = p.DataLen, p.Responder, p.Initiator, p.Flow, p.Retry, p.RNRRetry
	put32(b, 16, p.QPNum)
}

// GetConnParam reads a ConnParam.
func GetConnParam(b []byte) ConnParam {
	return ConnParam{
		Data: uintptr(get64(b, 0)), DataLen: b[8], Responder: b[9], Initiator: b[10], Flow: b[11], Retry: b[12], RNRRetry: b[13],
		QPNum: get32(b, 16),
	}
}
