//go:build amd64 || arm64

package abi

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// constants maps names of the headers to the values of this package.
var constants = map[string]uint64{
	"IBV_ACCESS_LOCAL_WRITE": uint64(LocalWrite), "IBV_ACCESS_REMOTE_WRITE": uint64(RemoteWrite),
	"IBV_ACCESS_REMOTE_READ": uint64(RemoteRead), "IBV_ACCESS_MW_BIND": uint64(MWBind),

	"IBV_WR_RDMA_WRITE": uint64(OpWrite), "IBV_WR_SEND": uint64(OpSend), "IBV_WR_RDMA_READ": uint64(OpRead),
	"IBV_WR_LOCAL_INV": uint64(OpLocalInv), "IBV_WR_BIND_MW": uint64(OpBindMW), "IBV_WR_SEND_WITH_INV": uint64(OpSendInv),

	"IBV_SEND_FENCE": uint64(Fence), "IBV_SEND_SIGNALED": uint64(Signaled), "IBV_SEND_SOLICITED": uint64(Solicited), "IBV_SEND_INLINE": uint64(Inline),

	"IBV_WC_SUCCESS": uint64(StatusSuccess), "IBV_WC_LOC_LEN_ERR": uint64(StatusLocLen), "IBV_WC_LOC_QP_OP_ERR": uint64(StatusLocQPOp),
	"IBV_WC_LOC_PROT_ERR": uint64(StatusLocProt), "IBV_WC_WR_FLUSH_ERR": uint64(StatusFlushed), "IBV_WC_MW_BIND_ERR": uint64(StatusMWBind),
	"IBV_WC_BAD_RESP_ERR": uint64(StatusBadResp), "IBV_WC_LOC_ACCESS_ERR": uint64(StatusLocAccess), "IBV_WC_REM_INV_REQ_ERR": uint64(StatusRemInvReq),
	"IBV_WC_REM_ACCESS_ERR": uint64(StatusRemAccess), "IBV_WC_REM_OP_ERR": uint64(StatusRemOp), "IBV_WC_RETRY_EXC_ERR": uint64(StatusRetryExc),
	"IBV_WC_RNR_RETRY_EXC_ERR": uint64(StatusRNRRetryExc), "IBV_WC_REM_ABORT_ERR": uint64(StatusRemAbort), "IBV_WC_FATAL_ERR": uint64(StatusFatal),
	"IBV_WC_RESP_TIMEOUT_ERR": uint64(StatusRespTimeout), "IBV_WC_GENERAL_ERR": uint64(StatusGeneral),

	"IBV_WC_SEND": uint64(WCSend), "IBV_WC_RDMA_WRITE": uint64(WCWrite), "IBV_WC_RDMA_READ": uint64(WCRead), "IBV_WC_BIND_MW": uint64(WCBindMW),
	"IBV_WC_LOCAL_INV": uint64(WCLocalInv), "IBV_WC_RECV": uint64(WCRecv), "IBV_WC_WITH_INV": uint64(WithInv),

	"IBV_QPS_RESET": uint64(QPReset), "IBV_QPS_INIT": uint64(QPInit), "IBV_QPS_RTR": uint64(QPRTR), "IBV_QPS_RTS": uint64(QPRTS), "IBV_QPS_ERR": uint64(QPErr),
	"IBV_QP_STATE": uint64(MaskState), "IBV_QP_ACCESS_FLAGS": uint64(MaskAccess), "IBV_QP_PKEY_INDEX": uint64(MaskPKey), "IBV_QP_PORT": uint64(MaskPort),
	"IBV_QPT_RC": QPTypeRC,

	"IBV_DEVICE_MEM_WINDOW": uint64(CapMemWindow), "IBV_DEVICE_MEM_MGT_EXTENSIONS": uint64(CapMemMgtExt),
	"IBV_DEVICE_MEM_WINDOW_TYPE_2A": uint64(CapMemWindow2A), "IBV_DEVICE_MEM_WINDOW_TYPE_2B": uint64(CapMemWindow2B),

	"IBV_TRANSPORT_IB": uint64(TransportIB), "IBV_TRANSPORT_IWARP": uint64(TransportIWARP),
	"IBV_LINK_LAYER_UNSPECIFIED": uint64(LinkUnspecified), "IBV_LINK_LAYER_INFINIBAND": uint64(LinkInfiniBand), "IBV_LINK_LAYER_ETHERNET": uint64(LinkEthernet),
	"IBV_PORT_DOWN": uint64(PortDown), "IBV_PORT_INIT": uint64(PortInit), "IBV_PORT_ARMED": uint64(PortArmed),
	"IBV_PORT_ACTIVE": uint64(PortActive), "IBV_PORT_ACTIVE_DEFER": uint64(PortActiveDefer),

	"IBV_EVENT_CQ_ERR": uint64(AsyncCQErr), "IBV_EVENT_QP_FATAL": uint64(AsyncQPFatal), "IBV_EVENT_QP_REQ_ERR": uint64(AsyncQPReqErr),
	"IBV_EVENT_QP_ACCESS_ERR": uint64(AsyncQPAccessErr), "IBV_EVENT_DEVICE_FATAL": uint64(AsyncDeviceFatal), "IBV_EVENT_PORT_ACTIVE": uint64(AsyncPortActive),
	"IBV_EVENT_PORT_ERR": uint64(AsyncPortErr), "IBV_EVENT_GID_CHANGE": uint64(AsyncGIDChange),

	"RDMA_CM_EVENT_ADDR_RESOLVED": uint64(CMAddrResolved), "RDMA_CM_EVENT_ADDR_ERROR": uint64(CMAddrError),
	"RDMA_CM_EVENT_ROUTE_RESOLVED": uint64(CMRouteResolved), "RDMA_CM_EVENT_ROUTE_ERROR": uint64(CMRouteError),
	"RDMA_CM_EVENT_CONNECT_REQUEST": uint64(CMConnectRequest), "RDMA_CM_EVENT_CONNECT_RESPONSE": uint64(CMConnectResp),
	"RDMA_CM_EVENT_CONNECT_ERROR": uint64(CMConnectError), "RDMA_CM_EVENT_UNREACHABLE": uint64(CMUnreachable), "RDMA_CM_EVENT_REJECTED": uint64(CMRejected),
	"RDMA_CM_EVENT_ESTABLISHED": uint64(CMEstablished), "RDMA_CM_EVENT_DISCONNECTED": uint64(CMDisconnected),
	"RDMA_CM_EVENT_DEVICE_REMOVAL": uint64(CMDeviceRemoval), "RDMA_CM_EVENT_ADDR_CHANGE": uint64(CMAddrChange), "RDMA_CM_EVENT_TIMEWAIT_EXIT": uint64(CMTimewaitExit),

	"RDMA_PS_TCP": PortSpaceTCP, "RDMA_OPTION_ID": OptionLevelID, "RDMA_OPTION_ID_TOS": OptionTOS, "RDMA_OPTION_ID_REUSEADDR": OptionReuseAddr,
	"RDMA_OPTION_ID_AFONLY": OptionAFOnly, "RDMA_OPTION_ID_ACK_TIMEOUT": OptionACKTimeout,
}

// whole are the structures of which this package has the whole size. Of the others it has a part.
var whole = []string{
	"ibv_sge", "ibv_send_wr", "ibv_recv_wr", "ibv_wc", "ibv_device_attr", "ibv_qp_init_attr", "ibv_qp_attr", "ibv_async_event", "ibv_device",
	"ibv_mr", "ibv_mw", "ibv_pd", "ibv_comp_channel", "rdma_event_channel", "rdma_cm_event", "rdma_conn_param",
}

// The headers of rdma-core have the layouts and values of this package.
func TestLayoutsAreThoseOfTheHeaders(t *testing.T) {
	gcc := witness.Program(t, "gcc")
	witness.VerbsHeaders(t)
	fields := map[string]place{}
	var source strings.Builder
	source.WriteString(`#include <stddef.h>
#include <stdio.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#define SIZE(s) printf("%s %zu 0\n", #s, sizeof(struct s))
#define FIELD(s, f) printf("%s.%s %zu %zu\n", #s, #f, offsetof(struct s, f), sizeof(((struct s *)0)->f))
#define VALUE(c) printf("%s %llu 0\n", #c, (unsigned long long)(c))
int main(void) {
`)
	all := layouts()
	for i := range all {
		l := &all[i]
		fmt.Fprintf(&source, "\tSIZE(%s);\n", l.c)
		for name, p := range l.places(t) {
			fields[l.c+"."+name] = p
			fmt.Fprintf(&source, "\tFIELD(%s, %s);\n", l.c, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(constants)) {
		fmt.Fprintf(&source, "\tVALUE(%s);\n", name)
	}
	source.WriteString("\tFIELD(ibv_context, mutex);\n\tVALUE(IBV_MW_TYPE_2);\n\treturn 0;\n}\n")
	lines := runC(t, gcc, source.String())

	for _, l := range all {
		size := int(lines[l.c].at)
		if l.size > size && l.c != "ibv_port_attr" || l.size != size && slices.Contains(whole, l.c) {
			t.Errorf("%s has %d bytes in C, %d here", l.c, size, l.size)
		}
		if l.c == "ibv_port_attr" && l.size < size { // room for what the library writes
			t.Errorf("%s has %d bytes in C, room for %d here", l.c, size, l.size)
		}
	}
	if at := int(lines["ibv_context.mutex"].at); at < ContextSize {
		t.Errorf("the mutex of ibv_context is at %d, within the %d bytes here", at, ContextSize)
	}
	for name, p := range fields {
		c := lines[name]
		// A flag and a text of 63 bytes do not fill their field.
		short := strings.HasSuffix(name, "sq_sig_all") || c.size == 64 && p.size == 63
		if uint64(p.at) != c.at || p.size != c.size && !short {
			t.Errorf("%s is at %d with %d bytes in C, at %d with %d here", name, c.at, c.size, p.at, p.size)
		}
	}
	for name, value := range constants {
		if lines[name].at != value {
			t.Errorf("%s is %#x in C, %#x here", name, lines[name].at, value)
		}
	}
	if got := lines["IBV_MW_TYPE_2"].at; got != 2 {
		t.Errorf("IBV_MW_TYPE_2 is %d in C, and lib passes 2", got)
	}
	if len(fields) < 80 || len(lines) < len(fields)+len(constants) {
		t.Errorf("compared %d fields of %d lines", len(fields), len(lines))
	}
}

// cLine is a line of the program: an offset or value, and a size.
type cLine struct {
	at   uint64
	size int
}

// runC compiles and runs a program, and returns its lines by name.
func runC(t *testing.T, gcc, source string) map[string]cLine {
	t.Helper()
	dir := t.TempDir()
	program, text := filepath.Join(dir, "layout"), filepath.Join(dir, "layout.c")
	if err := os.WriteFile(text, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-Wall", "-Werror", "-o", program, text).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]cLine{}
	for scan := bufio.NewScanner(bytes.NewReader(out)); scan.Scan(); {
		var name string
		var c cLine
		if _, err := fmt.Sscan(scan.Text(), &name, &c.at, &c.size); err != nil {
			t.Fatalf("%q: %v", scan.Text(), err)
		}
		lines[name] = c
	}
	return lines
}
