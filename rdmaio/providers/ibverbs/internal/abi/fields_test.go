//go:build amd64 || arm64

package abi

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// layout is a structure of C, the code that writes it, and the fields of both.
type layout struct {
	c     string // "ibv_send_wr"
	size  int
	zero  any                       // a value of the Go type, to be filled in by reflection
	put   func(v any, b []byte)     // writes a value
	get   func(b []byte) any        // reads one
	names map[string]string         // from a field in Go to its name in C
	more  map[string]func(b []byte) // further fields of C, and what sets one to other than 0
}

// layouts lists every structure with a Put or a setter.
func layouts() []layout {
	return []layout{
		{
			c: "ibv_sge", size: SGESize, zero: SGE{}, put: func(v any, b []byte) { v.(SGE).Put(b) }, get: func(b []byte) any { return GetSGE(b) },
			names: map[string]string{"Addr": "addr", "Length": "length", "LKey": "lkey"},
		},
		{
			c: "ibv_send_wr", size: SendWRSize, zero: SendWR{},
			put: func(v any, b []byte) { w := v.(SendWR); w.Put(b) }, get: func(b []byte) any { return GetSendWR(b) },
			names: map[string]string{
				"ID": "wr_id", "Next": "next", "SGL": "sg_list", "NumSGE": "num_sge", "Opcode": "opcode", "Flags": "send_flags",
				"Invalidate": "invalidate_rkey", "RemoteAddr": "wr.rdma.remote_addr", "RKey": "wr.rdma.rkey",
				"Bind.MW": "bind_mw.mw", "Bind.RKey": "bind_mw.rkey", "Bind.MR": "bind_mw.bind_info.mr", "Bind.Addr": "bind_mw.bind_info.addr",
				"Bind.Length": "bind_mw.bind_info.length", "Bind.Access": "bind_mw.bind_info.mw_access_flags",
			},
		},
		{
			c: "ibv_recv_wr", size: RecvWRSize, zero: RecvWR{},
			put: func(v any, b []byte) { w := v.(RecvWR); w.Put(b) }, get: func(b []byte) any { return GetRecvWR(b) },
			names: map[string]string{"ID": "wr_id", "Next": "next", "SGL": "sg_list", "NumSGE": "num_sge"},
		},
		{
			c: "ibv_wc", size: WCSize, zero: WC{}, put: func(v any, b []byte) { c := v.(WC); c.Put(b) }, get: func(b []byte) any { return GetWC(b) },
			names: map[string]string{
				"ID": "wr_id", "Status": "status", "Opcode": "opcode", "VendorErr": "vendor_err", "ByteLen": "byte_len",
				"InvalidatedKey": "invalidated_rkey", "QPNum": "qp_num", "Flags": "wc_flags",
			},
		},
		{
			c: "ibv_device_attr", size: DeviceAttrSize, zero: DeviceAttr{},
			put: func(v any, b []byte) { a := v.(DeviceAttr); a.Put(b) }, get: func(b []byte) any { return GetDeviceAttr(b) },
			names: map[string]string{
				"Firmware": "fw_ver", "NodeGUID": "node_guid", "MaxMRSize": "max_mr_size", "VendorID": "vendor_id", "PartID": "vendor_part_id",
				"HWVersion": "hw_ver", "MaxQP": "max_qp", "MaxQPWR": "max_qp_wr", "Caps": "device_cap_flags", "MaxSGE": "max_sge",
				"MaxReadSGE": "max_sge_rd", "MaxCQ": "max_cq", "MaxCQE": "max_cqe", "MaxMR": "max_mr", "MaxPD": "max_pd",
				"MaxResponder": "max_qp_rd_atom", "MaxInitiator": "max_qp_init_rd_atom", "MaxMW": "max_mw", "Ports": "phys_port_cnt",
			},
		},
		{
			c: "ibv_port_attr", size: PortAttrSize, zero: PortAttr{},
			put: func(v any, b []byte) { a := v.(PortAttr); a.Put(b) }, get: func(b []byte) any { return GetPortAttr(b) },
			names: map[string]string{
				"State": "state", "MaxMTU": "max_mtu", "ActiveMTU": "active_mtu", "GIDs": "gid_tbl_len", "MaxMessage": "max_msg_sz",
				"PKeys": "pkey_tbl_len", "LID": "lid", "Width": "active_width", "Speed": "active_speed", "Link": "link_layer",
			},
		},
		{
			c: "ibv_qp_init_attr", size: QPInitAttrSize, zero: QPInitAttr{},
			put: func(v any, b []byte) { a := v.(QPInitAttr); a.Put(b) }, get: func(b []byte) any { return GetQPInitAttr(b) },
			names: map[string]string{
				"SendCQ": "send_cq", "RecvCQ": "recv_cq", "MaxSendWR": "cap.max_send_wr", "MaxRecvWR": "cap.max_recv_wr",
				"MaxSendSGE": "cap.max_send_sge", "MaxRecvSGE": "cap.max_recv_sge", "MaxInline": "cap.max_inline_data", "SignalAll": "sq_sig_all",
			},
			more: map[string]func(b []byte){"qp_type": func(b []byte) { put32(b, 52, ^get32(b, 52)) }},
		},
		{
			c: "ibv_qp_attr", size: QPAttrSize, zero: QPAttr{}, put: func(v any, b []byte) { v.(QPAttr).Put(b) }, get: func(b []byte) any { return GetQPAttr(b) },
			names: map[string]string{"State": "qp_state", "Access": "qp_access_flags", "PKey": "pkey_index", "Port": "port_num"},
		},
		{
			c: "ibv_async_event", size: AsyncEventSize, zero: AsyncEvent{},
			put: func(v any, b []byte) { v.(AsyncEvent).Put(b) }, get: func(b []byte) any { return GetAsyncEvent(b) },
			names: map[string]string{"Element": "element", "Type": "event_type"},
		},
		{
			c: "ibv_context", size: ContextSize, zero: ContextFields{},
			put: func(v any, b []byte) { v.(ContextFields).Put(b) }, get: func(b []byte) any { return Context(Addr(b)) },
			names: map[string]string{"Device": "device", "AsyncFD": "async_fd", "Vectors": "num_comp_vectors"},
			more: map[string]func(b []byte){
				"ops.alloc_mw": setOp(OpAllocMW), "ops.dealloc_mw": setOp(OpDeallocMW), "ops.poll_cq": setOp(OpPollCQ),
				"ops.req_notify_cq": setOp(OpReqNotify), "ops.post_send": setOp(OpPostSend), "ops.post_recv": setOp(OpPostRecv),
			},
		},
		{
			c: "ibv_device", size: DeviceSize, zero: DeviceFields{},
			put: func(v any, b []byte) { v.(DeviceFields).Put(b) }, get: func(b []byte) any { return Device(Addr(b)) },
			names: map[string]string{"Transport": "transport_type", "Name": "name", "DevName": "dev_name"},
		},
		{
			c: "ibv_mr", size: MRSize, zero: MRFields{}, put: func(v any, b []byte) { v.(MRFields).Put(b) }, get: func(b []byte) any { return MR(Addr(b)) },
			names: map[string]string{"LKey": "lkey", "RKey": "rkey"},
			more:  map[string]func(b []byte){"context": setFirst},
		},
		{c: "ibv_pd", size: PDSize, more: map[string]func(b []byte){"context": setFirst}},
		{c: "ibv_mw", size: MWSize, more: map[string]func(b []byte){"context": setFirst, "rkey": func(b []byte) { SetMWKey(Addr(b), ^uint32(0)) }}},
		{c: "ibv_cq", size: CQSize, more: map[string]func(b []byte){"context": setFirst, "cqe": func(b []byte) { PutCQ(b, -1) }}},
		{c: "ibv_qp", size: QPSize, more: map[string]func(b []byte){"context": setFirst, "qp_num": func(b []byte) { PutQP(b, ^uint32(0)) }}},
		{c: "ibv_comp_channel", size: CompChannelSize, more: map[string]func(b []byte){"fd": func(b []byte) { PutCompChannel(b, -1) }}},
		{c: "rdma_event_channel", size: EventChannelSize, more: map[string]func(b []byte){"fd": func(b []byte) { PutEventChannel(b, -1) }}},
		{
			c: "rdma_cm_id", size: CMIDSize, zero: CMID{},
			put: func(v any, b []byte) { f := v.(CMID); f.Put(b) }, get: func(b []byte) any { return GetCMID(Addr(b)) },
			names: map[string]string{
				"Verbs": "verbs", "Context": "context", "QP": "qp", "Src": "route.addr.src_storage", "Dst": "route.addr.dst_storage", "Port": "port_num",
			},
			more: map[string]func(b []byte){
				"qp": func(b []byte) { SetCMQP(Addr(b), ^uintptr(0)) }, "context": func(b []byte) { SetCMContext(Addr(b), ^uintptr(0)) },
			},
		},
		{
			c: "rdma_cm_event", size: CMEventSize, zero: CMEvent{},
			put: func(v any, b []byte) { e := v.(CMEvent); e.Put(b, 0) },
			get: func(b []byte) any {
				e := GetCMEvent(Addr(b))
				if n := int(b[32]); n > 0 { // put writes no address
					e.PrivateData = bytes.Repeat([]byte{0xff}, n)
				}
				return e
			},
			names: map[string]string{
				"ID": "id", "ListenID": "listen_id", "Type": "event", "Status": "status", "PrivateData": "param.conn.private_data_len",
				"Responder": "param.conn.responder_resources", "Initiator": "param.conn.initiator_depth",
			},
			more: map[string]func(b []byte){"param.conn.private_data": func(b []byte) { (&CMEvent{}).Put(b, ^uintptr(0)) }},
		},
		{
			c: "rdma_conn_param", size: ConnParamSize, zero: ConnParam{},
			put: func(v any, b []byte) { p := v.(ConnParam); p.Put(b) }, get: func(b []byte) any { return GetConnParam(b) },
			names: map[string]string{
				"Data": "private_data", "DataLen": "private_data_len", "Responder": "responder_resources", "Initiator": "initiator_depth",
				"Flow": "flow_control", "Retry": "retry_count", "RNRRetry": "rnr_retry_count", "QPNum": "qp_num",
			},
		},
	}
}

// setOp stores the address of a function, as the device's library does.
func setOp(op Op) func(b []byte) {
	return func(b []byte) { SetPointer(Addr(b)+uintptr(op), ^uintptr(0)) }
}

// setFirst stores the ibv_context of an object, which lib reads as its first pointer.
func setFirst(b []byte) { SetPointer(Addr(b), ^uintptr(0)) }

// place is the bytes that a field has.
type place struct{ at, size int }

// places returns where the fields of a layout are, by their names in C: the bytes that change if
// the field alone is set.
func (l *layout) places(t *testing.T) map[string]place {
	t.Helper()
	found := map[string]place{}
	base := make([]byte, l.size)
	add := func(name string, b []byte) {
		p := place{at: -1}
		for i := range b {
			if b[i] != base[i] {
				if p.at < 0 {
					p.at = i
				}
				p.size = i - p.at + 1
			}
		}
		if p.at < 0 {
			t.Errorf("%s.%s: setting it changes nothing", l.c, name)
		}
		if earlier, ok := found[name]; ok && earlier != p {
			t.Errorf("%s.%s: two ways of setting it change bytes %v and %v", l.c, name, earlier, p)
		}
		found[name] = p
	}
	if l.zero != nil {
		l.put(l.zero, base)
		for _, path := range fieldPaths(reflect.TypeOf(l.zero), "") {
			name := l.names[path]
			if name == "" {
				t.Errorf("%s: field %s of the Go type has no name in C", l.c, path)
				continue
			}
			b := make([]byte, l.size)
			l.put(l.with(path), b)
			add(name, b)
		}
	}
	for name, set := range l.more {
		b := bytes.Clone(base)
		set(b)
		add(name, b)
	}
	return found
}

// fieldPaths returns the fields of a structure, and those of structures in it.
func fieldPaths(typ reflect.Type, prefix string) (paths []string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Type.Kind() == reflect.Struct {
			paths = append(paths, fieldPaths(f.Type, f.Name+".")...)
		} else {
			paths = append(paths, prefix+f.Name)
		}
	}
	return paths
}

// with returns a value of the Go type in which one field has all bits set.
func (l *layout) with(path string) any {
	v := reflect.New(reflect.TypeOf(l.zero)).Elem()
	f := v
	for name := range strings.SplitSeq(path, ".") {
		f = f.FieldByName(name)
	}
	setAll(f, path, l.names[path])
	return v.Interface()
}

// setAll sets all bits of a field that the structure of C has.
func setAll(f reflect.Value, path, c string) {
	switch f.Kind() {
	case reflect.Bool:
		f.SetBool(true)
	case reflect.String:
		f.SetString(strings.Repeat("x", 63)) // of 64, with the end
	case reflect.Int, reflect.Int32:
		switch path { // C has fewer bits
		case "PKeys":
			f.SetInt(1<<16 - 1)
		case "Ports":
			f.SetInt(1<<8 - 1)
		default:
			f.SetInt(-1)
			if path == "ActiveMTU" || path == "MaxMTU" || path == "GIDs" || strings.HasPrefix(c, "cap.") {
				f.SetInt(1<<32 - 1)
			}
		}
	case reflect.Array:
		for i := range f.Len() {
			f.Index(i).SetUint(0xff)
		}
	case reflect.Slice:
		n := SockaddrSize
		if path == "PrivateData" {
			n = 255
		}
		f.SetBytes(bytes.Repeat([]byte{0xff}, n))
	default:
		f.SetUint(^uint64(0) >> (64 - f.Type().Bits()))
	}
}

func TestFieldsComeBackAlone(t *testing.T) {
	for _, l := range layouts() {
		if l.zero == nil {
			continue
		}
		for _, path := range fieldPaths(reflect.TypeOf(l.zero), "") {
			b := make([]byte, l.size)
			want := l.with(path)
			l.put(want, b)
			got := reflect.ValueOf(l.get(b))
			if !sameFields(reflect.ValueOf(want), got) {
				t.Errorf("%s: with %s set, found %+v, expected %+v", l.c, path, got, want)
			}
		}
	}
}

// sameFields compares values whose empty slices may have the length that C has.
func sameFields(want, got reflect.Value) bool {
	for _, path := range fieldPaths(want.Type(), "") {
		a, b := want, got
		for name := range strings.SplitSeq(path, ".") {
			a, b = a.FieldByName(name), b.FieldByName(name)
		}
		if a.Kind() == reflect.Slice {
			if !bytes.Equal(bytes.TrimRight(a.Bytes(), "\x00"), bytes.TrimRight(b.Bytes(), "\x00")) {
				return false
			}
		} else if a.Interface() != b.Interface() {
			return false
		}
	}
	return true
}

func TestPutStaysWithinTheStructure(t *testing.T) {
	const guard = 64
	for _, l := range layouts() {
		if l.zero == nil {
			continue
		}
		for _, fill := range []byte{0, 0xa5} {
			for _, path := range fieldPaths(reflect.TypeOf(l.zero), "") {
				b := bytes.Repeat([]byte{fill}, l.size+guard)
				l.put(l.with(path), b)
				if n := len(bytes.TrimRight(b, string([]byte{fill}))); n > l.size {
					t.Errorf("%s: with %s set, byte %d is written, and the size is %d", l.c, path, n-1, l.size)
				}
			}
		}
	}
}

func TestFieldsHaveBytesOfTheirOwn(t *testing.T) {
	for _, l := range layouts() {
		places := l.places(t)
		for a, p := range places {
			for b, q := range places {
				if a < b && p.at < q.at+q.size && q.at < p.at+p.size {
					t.Errorf("%s: %s at %v and %s at %v overlap", l.c, a, p, b, q)
				}
			}
		}
	}
}

func TestOpReadsTheContextsFunction(t *testing.T) {
	b := make([]byte, ContextSize)
	for i, op := range []Op{OpAllocMW, OpDeallocMW, OpPollCQ, OpReqNotify, OpPostSend, OpPostRecv} {
		SetPointer(Addr(b)+uintptr(op), uintptr(1000+i))
		if got := OpOf(Addr(b), op); got != uintptr(1000+i) {
			t.Errorf("operation at %d: found %d, expected %d", op, got, 1000+i)
		}
	}
}

func TestSingleFieldsComeBack(t *testing.T) {
	b := make([]byte, CMIDSize)
	p := Addr(b)
	SetMWKey(p, 0x12345678)
	if MWKey(p) != 0x12345678 {
		t.Error("key of a window")
	}
	PutCQ(b, 77)
	PutQP(b, 0xabcdef)
	if CQEntries(p) != 77 || QPNum(p) != 0xabcdef {
		t.Error("entries of a completion queue, number of a queue pair")
	}
	PutCompChannel(b, 9)
	if CompChannelFD(p) != 9 {
		t.Error("file of a completion channel")
	}
	PutEventChannel(b, 11)
	if EventChannelFD(p) != 11 {
		t.Error("file of an event channel")
	}
	SetCMContext(p, 5)
	SetCMQP(p, 6)
	if id := GetCMID(p); id.Context != 5 || id.QP != 6 {
		t.Errorf("found %+v", id)
	}
	SetInt(p, -3)
	if Int(p) != -3 {
		t.Error("an int")
	}
	SetPointer(p+8, 42)
	if Pointer(p, 1) != 42 {
		t.Error("a pointer")
	}
	if port := (AsyncEvent{Element: 0xffffffff00000002}).Port(); port != 2 {
		t.Errorf("port %d of an event whose union has other bytes behind it", port)
	}
}

func TestPrivateDataIsCopied(t *testing.T) {
	data, b := []byte("private data"), make([]byte, CMEventSize)
	e := CMEvent{ID: 1, PrivateData: data}
	e.Put(b, Addr(data))
	got := GetCMEvent(Addr(b))
	data[0] = 'P'
	if string(got.PrivateData) != "private data" {
		t.Errorf("found %q", got.PrivateData)
	}
	e.Put(b, 0)
	if got := GetCMEvent(Addr(b)); got.PrivateData != nil {
		t.Errorf("without an address: %q", got.PrivateData)
	}
}
