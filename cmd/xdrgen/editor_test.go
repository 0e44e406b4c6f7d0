package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/rpcrdma/internal/cli/completion"
	"github.com/rpcrdma/rpcrdma/internal/witness"
)

// neovimScript uses the server as a user does. It waits for events, and writes what it has seen.
const neovimScript = `
local seen = {}
local function wait(what, f)
  if not vim.wait(60000, f, 10) then seen.hung = what end
end
local function location(method)
  local p = vim.lsp.util.make_position_params(0, 'utf-16')
  for _, r in pairs(vim.lsp.buf_request_sync(0, method, p, 60000) or {}) do
    local l = (r.result or {})[1]
    if l then return vim.fn.fnamemodify(vim.uri_to_fname(l.uri), ':t') .. ':' .. (l.range.start.line + 1) end
  end
end
vim.cmd('edit proto.x')
wait('a finding', function() return #vim.diagnostic.get(0) == 1 end)
for _, d in ipairs(vim.diagnostic.get(0)) do
  seen.finding = (d.lnum + 1) .. ':' .. (d.col + 1) .. ' ' .. d.message:match('[^\n]*')
  vim.api.nvim_win_set_cursor(0, { d.lnum + 1, d.col })
end
local p = vim.lsp.util.make_range_params(0, 'utf-16')
p.context = { diagnostics = {}, only = { 'quickfix' } }
for _, r in pairs(vim.lsp.buf_request_sync(0, 'textDocument/codeAction', p, 60000) or {}) do
  for _, action in ipairs(r.result or {}) do
    seen.action = action.title
    vim.lsp.util.apply_workspace_edit(action.edit, 'utf-16')
  end
end
wait('no finding', function() return #vim.diagnostic.get(0) == 0 end)
vim.fn.search('name first')
seen.definition = location('textDocument/definition')
for _, r in pairs(vim.lsp.buf_request_sync(0, 'textDocument/formatting', vim.lsp.util.make_formatting_params(), 60000) or {}) do
  vim.lsp.util.apply_text_edits(r.result or {}, 0, 'utf-16')
end
seen.text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
vim.cmd('silent write')
vim.cmd('edit rfc9999.txt')
wait('a finding in a document', function() return #vim.diagnostic.get(0) == 1 end)
for _, d in ipairs(vim.diagnostic.get(0)) do
  seen.document = (d.lnum + 1) .. ':' .. (d.col + 1) .. ' ' .. d.message:match('[^\n]*')
end
vim.fn.search('LENGTH>')
seen.inDocument = location('textDocument/definition')
vim.cmd('edit rfc9998.txt')
seen.none = location('textDocument/definition')
seen.noneFound = tostring(#vim.diagnostic.get(0))
local file = io.open('seen.json', 'w')
file:write(vim.fn.json_encode(seen))
file:close()
vim.cmd('qa!')
`

// TestNeovimWorksAsTheDocumentationSays sets up Neovim with the lines of docs/editor.md.
func TestNeovimWorksAsTheDocumentationSays(t *testing.T) {
	nvim := witness.Program(t, "nvim")
	witness.Program(t, "sh")
	_, lines, _ := strings.Cut(readText(t, "../../docs/editor.md"), "```lua\n")
	lines, _, ok := strings.Cut(lines, "```")
	if !ok {
		t.Fatal("docs/editor.md has no lines for Neovim")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := writeFiles(t, map[string]string{
		"bin/xdrgen":  "#!/bin/sh\n" + asCommand + "=1 exec " + completion.Quote(self) + " \"$@\"\n",
		"names.x":     "const MAXNAME = 16;\ntypedef string name<MAXNAME>;\n",
		"proto.x":     "#include \"names.x\"\n\nstruct pair {\n  name first; /* \u00e9 \U0001F600 */ unsigned second;\n};\n",
		"rfc9999.txt": "1.  One\n\n   const LENGTH = 8;\n\n   struct a {\n      opaque data<LENGTH>;\n      thing other;\n   };\n\n2.  Two\n\n   Text.\n\n3.  Three\n\n   Text.\n",
		"rfc9998.txt": "1.  One\n\n   Text: no (XDR).\n\n2.  Two\n\n   Text.\n",
		"script.lua":  lines + neovimScript,
	})
	if err := os.Chmod(filepath.Join(dir, "bin/xdrgen"), 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), nvim, "--headless", "--clean", "-n", "-c", "luafile script.lua")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_STATE_HOME="+dir, "PATH="+filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "seen.json"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := map[string]string{}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	want := map[string]string{
		"finding": "4:29 unsigned without int", "action": "write unsigned int", "definition": "names.x:2",
		"text":     "#include \"names.x\"\n\nstruct pair {\n    name         first; /* \u00e9 \U0001F600 */\n    unsigned int second;\n};",
		"document": "7:7 type thing is not declared", "inDocument": "rfc9999.txt:3", "noneFound": "0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seen (-want +got):\n%s\n%s", diff, out)
	}
}
