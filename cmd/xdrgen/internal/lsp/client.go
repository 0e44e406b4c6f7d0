package lsp

import (
	"path/filepath"
	"slices"
)

// client holds the abilities of the client, and the folders that it has open.
type client struct {
	encoding        encoding
	markdown        bool // hovers may be Markdown
	related         bool // diagnostics may have further places
	hierarchical    bool // symbols may have symbols in them
	literals        bool // code actions may be edits
	documentChanges bool // edits may name the version of a document
	watches         bool // watches files when asked to
	folders         []string
}

func newClient(p initializeParams) client {
	c := p.Capabilities
	out := client{
		markdown:        slices.Contains(c.TextDocument.Hover.ContentFormat, "markdown"),
		related:         c.TextDocument.PublishDiagnostics.RelatedInformation,
		hierarchical:    c.TextDocument.DocumentSymbol.Hierarchical,
		literals:        len(c.TextDocument.CodeAction.Literal) > 0 && string(c.TextDocument.CodeAction.Literal) != "null",
		documentChanges: c.Workspace.WorkspaceEdit.DocumentChanges,
		watches:         c.Workspace.DidChangeWatchedFiles.DynamicRegistration,
	}
	if slices.Contains(c.General.PositionEncodings, "utf-8") {
		out.encoding = utf8Bytes
	}
	for _, f := range p.WorkspaceFolders {
		out.add(f.URI)
	}
	if len(out.folders) == 0 && p.RootURI != "" {
		out.add(p.RootURI)
	}
	return out
}

// add adds a folder that has a path.
func (c *client) add(u documentURI) {
	if p := u.path(); hasFile(p) && !slices.Contains(c.folders, p) {
		c.folders = append(c.folders, p)
	}
}

// foldersChange is the parameters of workspace/didChangeWorkspaceFolders.
type foldersChange struct {
	Event struct {
		Added   []folder `json:"added"`
		Removed []folder `json:"removed"`
	} `json:"event"`
}

func (s *server) folders(p foldersChange) error {
	for _, f := range p.Event.Removed {
		gone := f.URI.path()
		s.client.folders = slices.DeleteFunc(s.client.folders, func(have string) bool { return have == gone })
	}
	for _, f := range p.Event.Added {
		s.client.add(f.URI)
	}
	s.disk()
	return nil
}

// include returns the folders of the flags -I. Relative ones are below the client's first folder.
func (s *state) include() []string {
	var out []string
	for _, dir := range s.cfg.Options.Include {
		if !filepath.IsAbs(dir) && len(s.client.folders) > 0 {
			dir = filepath.Join(s.client.folders[0], dir)
		}
		out = append(out, dir)
	}
	return out
}

// capabilities returns the result of initialize.
func (s *server) capabilities() any {
	const incremental = 2
	encoding := map[encoding]string{utf16Units: "utf-16", utf8Bytes: "utf-8"}[s.client.encoding]
	return map[string]any{
		"serverInfo": map[string]any{"name": "xdrgen", "version": s.cfg.Version},
		"capabilities": map[string]any{
			"positionEncoding":           encoding,
			"textDocumentSync":           map[string]any{"openClose": true, "change": incremental, "save": map[string]any{}},
			"hoverProvider":              true,
			"definitionProvider":         true,
			"referencesProvider":         true,
			"documentSymbolProvider":     true,
			"workspaceSymbolProvider":    true,
			"codeActionProvider":         map[string]any{"codeActionKinds": []string{kindFix, kindFixAll}},
			"completionProvider":         map[string]any{"triggerCharacters": []string{"."}},
			"documentFormattingProvider": true,
			"workspace": map[string]any{
				"workspaceFolders": map[string]any{"supported": true, "changeNotifications": true},
			},
		},
	}
}

// watch asks the client to report changes of files that other programs make.
func (s *server) watch() {
	if !s.client.watches {
		return
	}
	s.nextID++
	watchers := []map[string]any{{"globPattern": "**/*.x"}, {"globPattern": "**/*.bind"}, {"globPattern": "**/*.origin"}}
	s.out.ask(s.nextID, "client/registerCapability", map[string]any{"registrations": []map[string]any{{
		"id": "files", "method": "workspace/didChangeWatchedFiles", "registerOptions": map[string]any{"watchers": watchers},
	}}})
}
