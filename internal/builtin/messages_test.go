package builtin_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exempt are the messages that kube-apiserver does not give, or that go on in other words there.
var exempt = []string{
	" RBAC permissions, which needs the verb escalate or bind", // a limit of this server
	"; resolution errors: ",                           // with an error that names a resource in the singular
	"error trying to reach service: ",                 // with an error of a connection
	"no preferred addresses found; known addresses: ", // an internal error, which fails a transcript
	"this server does not connect to nodes and pods",
}

// TestMessages finds each message that the rules of built-in kinds can give in an answer of kube-apiserver. A rule that
// no answer shows is a guess, so it is proven by an exchange in test/transcripts/testdata, or deleted.
func TestMessages(t *testing.T) {
	t.Parallel()
	answers := answersOfKubeAPIServer(t)
	for _, m := range messages(t) {
		if !strings.Contains(answers, m.text) && !slices.Contains(exempt, m.text) {
			t.Errorf("%s: no answer of kube-apiserver has %q", m.position, m.text)
		}
	}
}

// answersOfKubeAPIServer joins the responses of all transcripts of built-in resources, except for those that are ours.
func answersOfKubeAPIServer(t *testing.T) string {
	t.Helper()
	var answers strings.Builder
	for _, folder := range []string{"builtin", "admission", "all", "defaults", "quotas", "accounts"} {
		files, err := filepath.Glob(filepath.Join("../../test/transcripts/testdata", folder, "*.txt"))
		if err != nil || len(files) == 0 {
			t.Fatalf("transcripts in %s: %v, %v", folder, files, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			addAnswers(&answers, string(content))
		}
	}
	return answers.String()
}

// unescaped replaces what JSON and HTTP headers escape in messages.
var unescaped = strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t",
	`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// addAnswers adds the responses of one transcript. test/transcripts/transcript_test.go describes the format.
func addAnswers(answers *strings.Builder, transcript string) {
	var ours bool
	before := byte('<')
	for line := range strings.Lines(transcript) {
		isProse := line[0] != '<' && line[0] != '>'
		if before == '<' && line[0] != '<' {
			ours = false
		}
		switch {
		case line[0] == '<' && !ours:
			answers.WriteString(unescaped.Replace(line))
		case isProse && (strings.HasPrefix(line, "@ours") || strings.HasPrefix(line, "@differs")):
			ours = true
		}
		before = line[0]
	}
}

// message is a text of the code that a client may read: the longest part of it between values.
type message struct {
	text     string
	position token.Position
}

// withRules are the folders of the code that refuses objects of built-in kinds. This package itself holds the table of
// kinds and has no rules.
var withRules = []string{
	".", "../access/admission/plugins", "../access/authorization/escalation", "../crdhandler/connect",
}

// messages lists the messages in the code of all folders with rules.
func messages(t *testing.T) (found []message) {
	t.Helper()
	for _, folder := range withRules {
		found = append(found, messagesBelow(t, folder)...)
	}
	return found
}

func messagesBelow(t *testing.T, folder string) (found []message) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "." {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if isInternal(n) {
				return false
			}
			text, ok := textOf(n)
			if ok && isMessage(text) {
				found = append(found, message{longestPart(text), files.Position(n.Pos())})
			}
			return !ok
		})
		return nil
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("%d messages in %s: %v", len(found), folder, err)
	}
	return found
}

// isInternal reports whether clients see no text of n: it is logged, tagged or the description of a metric.
func isInternal(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		function, ok := n.Fun.(*ast.SelectorExpr)
		return ok && slices.Contains([]string{"Info", "Error", "LogFailure"}, function.Sel.Name)
	case *ast.KeyValueExpr:
		key, ok := n.Key.(*ast.Ident)
		return ok && key.Name == "Help"
	case *ast.Field:
		return n.Tag != nil
	}
	return false
}

// value stands for a value in a text.
const value = "%v"

// textOf returns the text of a string literal, or of several that are joined, also with values.
func textOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(n.Value)
		return text, err == nil && n.Kind == token.STRING
	case *ast.BinaryExpr:
		left, isText := textOf(n.X)
		right, isTextToo := textOf(n.Y)
		if n.Op != token.ADD || !isText && !isTextToo {
			return "", false
		}
		if !isText {
			left = value
		}
		if !isTextToo {
			right = value
		}
		return left + right, true
	}
	return "", false
}

// isMessage reports whether the text has several words and is not an internal error, which wraps another error or
// names a Go type.
func isMessage(text string) bool {
	return strings.Contains(strings.TrimSpace(text), " ") && len(longestPart(text)) >= 8 &&
		!strings.Contains(text, "%w") && !strings.Contains(text, "%T")
}

// verb is what a format replaces by a value.
var verb = regexp.MustCompile(`%[-+# 0-9.\[\]]*[a-zA-Z]`)

func longestPart(text string) string {
	var longest string
	for _, part := range verb.Split(text, -1) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}
