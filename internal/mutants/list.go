package main

import "slices"

// The packages that look at a part of the transport, nearest first. rdmaio has most of its tests in
// folders by subject.
var (
	creditTests = append([]string{"rdmaio/internal/credit", "rdmaio/internal/engine", "rdmaio/internal/sim"}, ioTests...)
	chunkTests  = append([]string{"rdmaio/internal/chunk", "rdmaio/internal/sim"}, ioTests...)
	engineTests = append([]string{"rdmaio/internal/engine", "rdmaio/internal/sim"}, ioTests...)
	driverTests = append([]string{"rdmaio/internal/driver"}, ioTests...)
	poolTests   = append([]string{"rdmaio/internal/mrpool"}, ioTests...)
	// Folders whose tests are quick come first. The last pattern adds all others.
	ioTests = []string{
		"rdmaio", testFolders + "credits", testFolders + "keys", testFolders + "reverse", testFolders + "extensions",
		testFolders + "server", testFolders + "memory", testFolders + "messages", testFolders + "setup", testFolders + "...",
	}
	placesTests = []string{"internal/admission"}
)

const testFolders = "rdmaio/internal/test/"

const (
	requesterFile = "rdmaio/internal/engine/requester.go"
	responderFile = "rdmaio/internal/engine/responder.go"
	assembleFile  = "rdmaio/internal/engine/assemble.go"
	legacyFile    = "rdmaio/internal/engine/legacy.go"
	engineFile    = "rdmaio/internal/engine/engine.go"
	pumpFile      = "rdmaio/internal/engine/pump.go"
	sendQueueFile = "rdmaio/internal/engine/sendqueue.go"
	requestFile   = "rdmaio/internal/engine/request.go"
	answerFile    = "rdmaio/internal/engine/answer.go"
	pendingFile   = "rdmaio/internal/engine/pending.go"
	creditFile    = "rdmaio/internal/credit/v1.go"
	planFile      = "rdmaio/internal/chunk/plan.go"
	fillFile      = "rdmaio/internal/chunk/fill.go"
	limitsFile    = "rdmaio/internal/chunk/limits.go"
	poolFile      = "rdmaio/internal/mrpool/pool.go"
	releaseFile   = "rdmaio/internal/mrpool/release.go"
	replyFile     = "runtime/oncrpc/replycache/cache.go"
)

// mutants are plausible mistakes, and some that others have made, by package.
var mutants = slices.Concat(
	nfs4Mutants,
	engineMutants,
	rdmaioMutants,
	statesMutants,
	rpcMutants,
	reconnectMutants,
	combineMutants,
	historyMutants,
	livenessMutants,
	hostauthMutants,
	providerMutants,
	iwarpMutants,
	streamMutants,
	creditMutants,
	wrapMutants,
	codecMutants,
	planMutants,
	pageMutants,
	lspMutants,
	amendMutants,
	dissectorMutants,
	docMutants,
	attributesMutants,
	releaseMutants,
	client4Mutants,
	filedataMutants,
	delegationMutants,
	callMutants,
	submitMutants, inlineMutants, carrierMutants,
	rdmaSubmitMutants, monitorMutants, certsMutants, localMutants, activationMutants,
	resultsMutants, simulationMutants,
	v2Mutants,
	version2Mutants,
	nfsMutants, nfsCommandMutants, vfsMutants, conformMutants,
	lockMutants,
	captureMutants,
	managerMutants,
	memoryMutants,
	rdmadevMutants,
	ibverbsMutants,
)
