package abi

// Access is a set of rights to a region or window (ibv_access_flags).
type Access uint32

// The rights.
const (
	LocalWrite  Access = 1 << 0
	RemoteWrite Access = 1 << 1
	RemoteRead  Access = 1 << 2
	MWBind      Access = 1 << 4
)

// Opcode is the operation of a SendWR (ibv_wr_opcode).
type Opcode uint32

// The opcodes that the provider uses.
const (
	OpWrite    Opcode = 0
	OpSend     Opcode = 2
	OpRead     Opcode = 4
	OpLocalInv Opcode = 7
	OpBindMW   Opcode = 8
	OpSendInv  Opcode = 9
)

// SendFlags modify a SendWR (ibv_send_flags).
type SendFlags uint32

// The flags.
const (
	Fence     SendFlags = 1 << 0
	Signaled  SendFlags = 1 << 1
	Solicited SendFlags = 1 << 2
	Inline    SendFlags = 1 << 3
)

// Status is the result of a request (ibv_wc_status).
type Status uint32

// The statuses.
const (
	StatusSuccess     Status = 0
	StatusLocLen      Status = 1
	StatusLocQPOp     Status = 2
	StatusLocProt     Status = 4
	StatusFlushed     Status = 5
	StatusMWBind      Status = 6
	StatusBadResp     Status = 7
	StatusLocAccess   Status = 8
	StatusRemInvReq   Status = 9
	StatusRemAccess   Status = 10
	StatusRemOp       Status = 11
	StatusRetryExc    Status = 12
	StatusRNRRetryExc Status = 13
	StatusRemAbort    Status = 16
	StatusFatal       Status = 19
	StatusRespTimeout Status = 20
	StatusGeneral     Status = 21
)

// WCOpcode is the kind of a completed request (ibv_wc_opcode).
type WCOpcode uint32

// The kinds.
const (
	WCSend     WCOpcode = 0
	WCWrite    WCOpcode = 1
	WCRead     WCOpcode = 2
	WCBindMW   WCOpcode = 5
	WCLocalInv WCOpcode = 6
	WCRecv     WCOpcode = 128
)

// WCFlags say more of a completed Receive (ibv_wc_flags).
type WCFlags uint32

// The flags. KernelWithInv is the kernel's bit for the same as WithInv: rxe reports that one.
const (
	WithInv       WCFlags = 1 << 3
	KernelWithInv WCFlags = 1 << 2
)

// QPState is a state of a queue pair (ibv_qp_state).
type QPState uint32

// The states that the provider sets; the library and the connection manager set the others.
const (
	QPReset QPState = 0
	QPInit  QPState = 1
	QPRTR   QPState = 2
	QPRTS   QPState = 3
	QPErr   QPState = 6
)

// QPMask says which fields of a QPAttr are set (ibv_qp_attr_mask).
type QPMask uint32

// The fields.
const (
	MaskState  QPMask = 1 << 0
	MaskAccess QPMask = 1 << 3
	MaskPKey   QPMask = 1 << 4
	MaskPort   QPMask = 1 << 5
)

// QPTypeRC is a reliable connection (IBV_QPT_RC).
const QPTypeRC = 2

// DeviceCaps are capabilities of a device (ibv_device_cap_flags).
type DeviceCaps uint32

// The capabilities that the provider looks at.
const (
	CapMemWindow   DeviceCaps = 1 << 17
	CapMemMgtExt   DeviceCaps = 1 << 21
	CapMemWindow2A DeviceCaps = 1 << 23
	CapMemWindow2B DeviceCaps = 1 << 24
)

// Transport is the protocol of a device (ibv_transport_type).
type Transport uint32

// The protocols. RoCE is TransportIB over LinkEthernet.
const (
	TransportIB    Transport = 0
	TransportIWARP Transport = 1
)

// LinkLayer is the network below a port.
type LinkLayer uint8

// The networks.
const (
	LinkUnspecified LinkLayer = 0
	LinkInfiniBand  LinkLayer = 1
	LinkEthernet    LinkLayer = 2
)

// PortState is the state of a port (ibv_port_state).
type PortState uint32

// The states.
const (
	PortDown        PortState = 1
	PortInit        PortState = 2
	PortArmed       PortState = 3
	PortActive      PortState = 4
	PortActiveDefer PortState = 5
)

// AsyncType is the kind of an AsyncEvent (ibv_event_type).
type AsyncType uint32

// The events that the provider looks at.
const (
	AsyncCQErr       AsyncType = 0
	AsyncQPFatal     AsyncType = 1
	AsyncQPReqErr    AsyncType = 2
	AsyncQPAccessErr AsyncType = 3
	AsyncDeviceFatal AsyncType = 8
	AsyncPortActive  AsyncType = 9
	AsyncPortErr     AsyncType = 10
	AsyncGIDChange   AsyncType = 18
)

// CMEventType is the kind of a CMEvent (rdma_cm_event_type).
type CMEventType uint32

// The events.
const (
	CMAddrResolved   CMEventType = 0
	CMAddrError      CMEventType = 1
	CMRouteResolved  CMEventType = 2
	CMRouteError     CMEventType = 3
	CMConnectRequest CMEventType = 4
	CMConnectResp    CMEventType = 5
	CMConnectError   CMEventType = 6
	CMUnreachable    CMEventType = 7
	CMRejected       CMEventType = 8
	CMEstablished    CMEventType = 9
	CMDisconnected   CMEventType = 10
	CMDeviceRemoval  CMEventType = 11
	CMAddrChange     CMEventType = 14
	CMTimewaitExit   CMEventType = 15
)

// PortSpaceTCP is the port space of reliable connections (RDMA_PS_TCP).
const PortSpaceTCP = 0x0106

// Options of rdma_set_option.
const (
	OptionLevelID    = 0 // RDMA_OPTION_ID
	OptionTOS        = 0 // RDMA_OPTION_ID_TOS: one byte, the traffic class
	OptionReuseAddr  = 1 // RDMA_OPTION_ID_REUSEADDR: int
	OptionAFOnly     = 2 // RDMA_OPTION_ID_AFONLY: int
	OptionACKTimeout = 3 // RDMA_OPTION_ID_ACK_TIMEOUT: one byte, 4.096 us * 2^n
)
