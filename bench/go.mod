module github.com/rpcrdma/rpcrdma/bench

go 1.26.0

require (
	github.com/davecgh/go-xdr v0.0.0-20161123171359-e6a2ba005892
	github.com/rasky/go-xdr v0.0.0-20170124162913-1a41d1a06c93
	github.com/stellar/go-xdr v0.0.0-20260828180817-2b1309f8a5a6
)

require (
	github.com/bufbuild/protocompile v0.14.1
	github.com/go-git/go-billy/v5 v5.6.0
	github.com/rpcrdma/rpcrdma v0.0.0
	github.com/rpcrdma/rpcrdma/nfs v0.0.0
	github.com/willscott/go-nfs v0.0.4
	github.com/willscott/go-nfs-client v0.0.0-20251022144359-801f10d98886
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)

require (
	github.com/cyphar/filepath-securejoin v0.2.5 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/hashicorp/golang-lru/v2 v2.0.7 // indirect
	github.com/xdrpp/goxdr v0.1.1 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
)

replace (
	github.com/rpcrdma/rpcrdma => ../
	github.com/rpcrdma/rpcrdma/nfs => ../nfs
)

tool (
	github.com/xdrpp/goxdr/cmd/goxdr
	google.golang.org/protobuf/cmd/protoc-gen-go
)
