package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

// An interface file that every peer reads goes through all tools, including those on PATH. Ratios
// are to the first row.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	file := filepath.Join(t.TempDir(), "a.x")
	if err := os.WriteFile(file, []byte("struct a {\n\tunsigned long x;\n};\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if err := run(&out, &errs, settings{rounds: 5, file: file, json: true}); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) == 0 || r.Rows[0].Tool != "xdrgen gen" || r.Rows[0].Ratio != 1 || r.Input != 3 {
		t.Fatalf("report %+v", r)
	}
	seen := map[string]bool{}
	for _, x := range r.Rows {
		seen[x.Tool] = true
		if x.Wall <= 0 || (x.Lines == 0) != (x.Tool == "xdrgen check") {
			t.Errorf("row %+v", x)
		}
	}
	if !seen["goxdr -fmt"] {
		t.Errorf("no row of goxdr, which is a tool of this module: %s", &errs)
	}
	if !seen["rpcgen"] && !strings.Contains(errs.String(), "without rpcgen") {
		t.Errorf("no word on rpcgen: %s", &errs)
	}
}

// The code of each generator is compiled and linked. Ratios are to the first row of a unit.
func TestCode(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	list, err := chosen("small,rpcrdma2")
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if err := run(&out, &errs, settings{codeRounds: 1, units: list, json: true}); err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, x := range r.Code {
		seen[x.Unit+" "+x.Generator] = true
		if x.Input == 0 || x.Lines == 0 || x.Bytes < x.Lines || x.CompileNS <= 0 || x.Binary <= 0 || (x.Generator == "xdrgen") != (x.Ratio == 1) {
			t.Errorf("row %+v", x)
		}
	}
	for _, want := range []string{"small xdrgen", "small goxdr", "rpcrdma2 xdrgen", "rpcrdma2 goxdr"} {
		if !seen[want] {
			t.Errorf("no row %s: %s", want, &errs)
		}
	}
	out.Reset()
	if err := r.writeTable(&out); err != nil || !strings.Contains(out.String(), "goxdr") || strings.Contains(out.String(), "whole processes") {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestChosen(t *testing.T) {
	if list, err := chosen("nfs3,small"); err != nil || len(list) != 2 || list[0].name != "nfs3" {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := chosen("small,nfs9"); err == nil || !strings.Contains(err.Error(), `no unit "nfs9": expected small, nfs3`) {
		t.Error(err)
	}
}

// The .proto file has a message for each struct, and for each union but those of a bool.
func TestProto(t *testing.T) {
	request, err := codeRequest(protoFile)
	if err != nil {
		t.Fatal(err)
	}
	var r pluginpb.CodeGeneratorRequest
	if err := proto.Unmarshal(request, &r); err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, m := range r.ProtoFile[0].MessageType {
		has[strings.ToLower(m.GetName())] = true
	}
	text, err := os.ReadFile("../../../spec/x/nfs3/nfs3.x")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^(?:struct (\w+)|union (\w+) switch \((?:[^b]\w*|b[^o]\w*) )`).FindAllStringSubmatch(string(text), -1)
	for _, m := range names {
		if name := strings.ReplaceAll(strings.ToLower(m[1]+m[2]), "_", ""); !has[name] {
			t.Errorf("no message %s", name)
		}
	}
	if len(names) != len(has) || len(names) < 90 {
		t.Errorf("%d messages, %d types", len(has), len(names))
	}
}

func TestProtoErrors(t *testing.T) {
	if _, err := codeRequest("syntax = \"proto3\"; message { }"); err == nil {
		t.Error("a message without a name")
	}
	fault := "nothing"
	answer, err := proto.Marshal(&pluginpb.CodeGeneratorResponse{Error: &fault})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := codeResponse(answer); err == nil || !strings.Contains(err.Error(), fault) {
		t.Error(err)
	}
}

func TestTarget(t *testing.T) {
	for _, tt := range []struct {
		i    int
		wall float64
		want string
	}{{0, 99, "<= 100: met"}, {0, 101, "<= 100: missed, 90.0 at best"}, {1, 500, ""}} {
		if got := target(tt.i, row{Wall: tt.wall, Low: 90}); got != tt.want {
			t.Errorf("row %d of %v ms: %q, want %q", tt.i, tt.wall, got, tt.want)
		}
	}
}
