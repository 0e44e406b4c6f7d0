package lsp

import "encoding/json"

// The structs of the protocol, with the fields that the server reads or writes.

type documentURI string

type position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   documentURI `json:"uri"`
	Range span        `json:"range"`
}

type folder struct {
	URI documentURI `json:"uri"`
}

type initializeParams struct {
	RootURI          documentURI `json:"rootUri"`
	WorkspaceFolders []folder    `json:"workspaceFolders"`
	Capabilities     struct {
		General struct {
			PositionEncodings []string `json:"positionEncodings"`
		} `json:"general"`
		Workspace struct {
			WorkspaceEdit struct {
				DocumentChanges bool `json:"documentChanges"`
			} `json:"workspaceEdit"`
			DidChangeWatchedFiles struct {
				DynamicRegistration bool `json:"dynamicRegistration"`
			} `json:"didChangeWatchedFiles"`
		} `json:"workspace"`
		TextDocument struct {
			Hover struct {
				ContentFormat []string `json:"contentFormat"`
			} `json:"hover"`
			PublishDiagnostics struct {
				RelatedInformation bool `json:"relatedInformation"`
			} `json:"publishDiagnostics"`
			DocumentSymbol struct {
				Hierarchical bool `json:"hierarchicalDocumentSymbolSupport"`
			} `json:"documentSymbol"`
			CodeAction struct {
				Literal json.RawMessage `json:"codeActionLiteralSupport"`
			} `json:"codeAction"`
		} `json:"textDocument"`
	} `json:"capabilities"`
}

// place is the parameters of a request about a document, and about a position in most.
type place struct {
	TextDocument struct {
		URI documentURI `json:"uri"`
	} `json:"textDocument"`
	Position position `json:"position"`
	Context  struct {
		IncludeDeclaration bool     `json:"includeDeclaration"` // of references
		Only               []string `json:"only"`               // of code actions
	} `json:"context"`
	Range span `json:"range"` // of code actions
}

type didOpen struct {
	TextDocument struct {
		URI     documentURI `json:"uri"`
		Version int         `json:"version"`
		Text    string      `json:"text"`
	} `json:"textDocument"`
}

type didChange struct {
	TextDocument struct {
		URI     documentURI `json:"uri"`
		Version int         `json:"version"`
	} `json:"textDocument"`
	ContentChanges []change `json:"contentChanges"`
}

// change replaces a range of a text, or the whole text if it has no range.
type change struct {
	Range *span  `json:"range"`
	Text  string `json:"text"`
}

// The severities of a diagnostic.
const (
	severityError   = 1
	severityWarning = 2
)

type diagnostic struct {
	Range    span      `json:"range"`
	Severity int       `json:"severity"`
	Code     string    `json:"code"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
	Related  []related `json:"relatedInformation,omitempty"`
}

type related struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

type publishDiagnostics struct {
	URI         documentURI  `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

type workspaceEdit struct {
	Changes         map[documentURI][]textEdit `json:"changes,omitempty"`
	DocumentChanges []documentEdit             `json:"documentChanges,omitempty"`
}

type documentEdit struct {
	TextDocument struct {
		URI     documentURI `json:"uri"`
		Version *int        `json:"version"`
	} `json:"textDocument"`
	Edits []textEdit `json:"edits"`
}

type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []diagnostic  `json:"diagnostics,omitempty"`
	IsPreferred bool          `json:"isPreferred,omitempty"`
	Edit        workspaceEdit `json:"edit"`
}

type hover struct {
	Contents markup `json:"contents"`
	Range    span   `json:"range"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}
