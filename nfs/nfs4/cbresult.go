package nfs4

import "github.com/rpcrdma/rpcrdma/nfs/gen/nfs42"

// cbResult returns the result of an operation with a status. CB_SEQUENCE and CB_GETATTR that
// succeed need more.
func cbResult(op nfs42.CBOp, status nfs42.Status) nfs42.CBResOp {
	res := nfs42.CBResOp{Op: op}
	switch op {
	case nfs42.CBOpNotifyDeviceID:
		res.NotifyDeviceID = new(nfs42.CBNotifyDeviceIDRes)
	case nfs42.CBOpOffload:
		res.Offload = new(nfs42.CBOffloadRes)
	case nfs42.CBOpIllegal:
		res.Illegal = new(nfs42.CBIllegalRes)
	}
	*cbField(&res) = status
	return res
}

// cbStatus returns the status of a result.
func cbStatus(res *nfs42.CBResOp) nfs42.Status { return *cbField(res) }

// cbField returns the place of a result's status.
func cbField(res *nfs42.CBResOp) *nfs42.Status {
	switch res.Op {
	case nfs42.CBOpGetAttr:
		return &res.GetAttr.Status
	case nfs42.CBOpRecall:
		return &res.Recall.Status
	case nfs42.CBOpLayoutRecall:
		return &res.LayoutRecall.Status
	case nfs42.CBOpNotify:
		return &res.Notify.Status
	case nfs42.CBOpPushDeleg:
		return &res.PushDeleg.Status
	case nfs42.CBOpRecallAny:
		return &res.RecallAny.Status
	case nfs42.CBOpRecallableObjAvail:
		return &res.RecallableObjAvail.Status
	case nfs42.CBOpRecallSlot:
		return &res.RecallSlot.Status
	case nfs42.CBOpSequence:
		return &res.Sequence.Status
	case nfs42.CBOpWantsCancelled:
		return &res.WantsCancelled.Status
	case nfs42.CBOpNotifyLock:
		return &res.NotifyLock.Status
	case nfs42.CBOpNotifyDeviceID:
		return &res.NotifyDeviceID.Status
	case nfs42.CBOpOffload:
		return &res.Offload.Status
	}
	return &res.Illegal.Status
}
