package nlm4

import (
	"testing"

	"github.com/rpcrdma/rpcrdma/internal/xdrtest"
)

// lock is the lock of the vectors.
func lock() Lock {
	return Lock{CallerName: []byte("host"), FH: Object("a handle"), Owner: Object("4@host"), SVID: 4, Offset: 1 << 32, Len: 10}
}

// The bytes were worked out by hand from RFC 1813 §6 and chapter 10 of XNFS.
func TestCodecAgreesWithBytesOfTheRFC(t *testing.T) {
	all := xdrtest.Load(t)
	cookie := Object{0, 0, 0, 7}
	xdrtest.Run(t, all, map[string]TestArgs{"test-args": {Cookie: cookie, Exclusive: true, Lock: lock()}})
	xdrtest.Run(t, all, map[string]TestRes{
		"test-denied": {Cookie: cookie, Stat: TestReply{Stat: StatusDenied, Holder: Holder{
			Exclusive: true, SVID: -1, Owner: Object("5@far"), Offset: 3, Len: 1<<64 - 1,
		}}},
		"test-granted": {Cookie: cookie},
	})
	xdrtest.Run(t, all, map[string]LockArgs{"lock-args": {Cookie: cookie, Block: true, Exclusive: true, Lock: lock(), Reclaim: true, State: 9}})
	xdrtest.Run(t, all, map[string]CancelArgs{"cancel-args": {Cookie: cookie, Block: true, Lock: lock()}})
	xdrtest.Run(t, all, map[string]UnlockArgs{"unlock-args": {Cookie: cookie, Lock: lock()}})
	xdrtest.Run(t, all, map[string]Res{"res-no-locks": {Cookie: cookie, Stat: Stat{Stat: StatusDeniedNoLocks}}})
	xdrtest.Run(t, all, map[string]ShareArgs{"share-args": {Cookie: cookie, Share: Share{
		CallerName: []byte("host"), FH: Object("a handle"), Owner: Object("me"), Mode: DenyReadWrite, Access: AccessWrite,
	}, Reclaim: true}})
	xdrtest.Run(t, all, map[string]ShareRes{"share-res": {Cookie: cookie, Stat: StatusFailed, Sequence: 2}})
	xdrtest.Run(t, all, map[string]Notify{"notify": {Name: []byte("host"), State: 11}})
	xdrtest.CheckTypes(t, all, "TestArgs", "TestRes", "LockArgs", "CancelArgs", "UnlockArgs", "Res", "ShareArgs", "ShareRes", "Notify")
}

// The numbers of the program, the version and the procedures are in RFC 1813 §6.1.2 and §6.2.
func TestNumbersAreThoseOfTheRFC(t *testing.T) {
	if Program != 100021 || Version != 4 {
		t.Error("the number of the program or of the version differs from the RFC's")
	}
	for i, number := range []int{
		ProcNull, ProcTest, ProcLock, ProcCancel, ProcUnlock, ProcGranted, ProcTestMsg, ProcLockMsg, ProcCancelMsg,
		ProcUnlockMsg, ProcGrantedMsg, ProcTestRes, ProcLockRes, ProcCancelRes, ProcUnlockRes, ProcGrantedRes,
	} {
		if number != i {
			t.Errorf("procedure %d has number %d", i, number)
		}
	}
	if ProcShare != 20 || ProcUnshare != 21 || ProcNMLock != 22 || ProcFreeAll != 23 {
		t.Error("the number of a procedure from 20 on differs from the RFC's")
	}
}
