package main

import (
	"context"
	"fmt"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// codeRequest compiles a .proto file to the input of a protoc plugin.
func codeRequest(text string) ([]byte, error) {
	const name = "p.proto"
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{name: text}),
	}}
	files, err := compiler.Compile(context.Background(), name)
	if err != nil {
		return nil, err
	}
	parameter := "M" + name + "=example.org/p;p"
	return proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name},
		Parameter:      &parameter,
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])},
	})
}

// codeResponse returns the only file of a plugin's output.
func codeResponse(answer []byte) (string, error) {
	var r pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(answer, &r); err != nil {
		return "", err
	}
	if r.Error != nil || len(r.File) != 1 {
		return "", fmt.Errorf("protoc-gen-go: %d files, error %q", len(r.File), r.GetError())
	}
	return r.File[0].GetContent(), nil
}
