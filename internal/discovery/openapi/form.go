package openapi

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// form is what the paths of resources say that are alike: with gaps, for they differ in names only. To encode them for each resource
// takes nearly as long as to encode its schema.
type form struct {
	paths []*formText
}

// formText is the JSON of what can be done at the path of an operation, from the colon on.
type formText struct {
	operation int
	// texts are what is the same for all; between them are the gaps.
	texts []string
	gaps  []int
}

// likeness is what makes resources alike.
type likeness struct {
	v                         *openAPIVersion
	namespaced, status, scale bool
}

// forms are those of all likenesses that were met: there are sixteen.
var forms sync.Map // likeness -> func() (*form, error)

// appendPaths appends what can be done with a resource to members that are there.
func (v *openAPIVersion) appendPaths(b []byte, r *resource) ([]byte, error) {
	operations := r.operations()
	if !r.fitsForm() {
		return v.appendOperations(b, operations)
	}
	like := likeness{v: v, namespaced: r.namespaced, status: r.status, scale: r.scale}
	made, ok := forms.Load(like)
	if !ok {
		made, _ = forms.LoadOrStore(like, sync.OnceValues(like.form))
	}
	f, err := made.(func() (*form, error))()
	if err != nil {
		return nil, err
	}
	return f.fill(b, operations, r.names(operations)), nil
}

// appendOperations is appendPaths for operations on anything.
func (v *openAPIVersion) appendOperations(b []byte, operations []*operation) ([]byte, error) {
	if v == version3 {
		return appendMembers(b, pathsV3(operations))
	}
	paths, err := pathsV2(operations)
	if err != nil {
		return nil, err
	}
	return appendMembers(b, paths)
}

// plainNames are all that is valid: there is nothing in them to escape.
var plainNames = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)

// fitsForm says that the resource differs from those like it in nothing but names.
func (r *resource) fitsForm() bool {
	for _, name := range []string{r.plural, r.object, r.list} {
		if !plainNames.MatchString(name) {
			return false
		}
	}
	return !r.builtin && !sharableBody(r.object)
}

// The first gaps are for names of the resource, those that follow for two of each operation.
const (
	groupGap = iota
	versionGap
	kindGap
	objectGap
	listGap
	tagGap
	operationGaps
)

// gap stands for a name. Nothing that is said of every resource looks like it, and it needs no escaping.
func gap(n int) string { return "gAp" + strconv.Itoa(n) + "gAp" }

var gaps = regexp.MustCompile("gAp([0-9]+)gAp")

// names are what is put into the gaps.
func (r *resource) names(operations []*operation) []string {
	names := make([]string, operationGaps, operationGaps+2*len(operations))
	names[groupGap], names[versionGap], names[kindGap] = r.group, r.version, r.kind
	names[objectGap], names[listGap], names[tagGap] = r.object, r.list, tag(r.group, r.version)
	for _, op := range operations {
		names = append(names, op.id, op.description)
	}
	return names
}

// form makes the form of resources that are like this.
func (l likeness) form() (*form, error) {
	r := &resource{
		group: gap(groupGap), version: gap(versionGap), kind: gap(kindGap), object: gap(objectGap), list: gap(listGap),
		namespaced: l.namespaced, status: l.status, scale: l.scale, produces: customProduces, patches: customPatches,
	}
	operations := r.operations()
	for n, op := range operations {
		op.tags, op.id, op.description = []string{gap(tagGap)}, gap(operationGaps+2*n), gap(operationGaps+2*n+1)
	}
	f := &form{}
	for path, at := range byPath(operations) {
		encoded, err := l.v.appendOperations(nil, at)
		if err != nil {
			return nil, fmt.Errorf("describing resources: %w", err)
		}
		text := newFormText(strings.TrimPrefix(string(encoded), strconv.Quote(path)))
		text.operation = slices.Index(operations, at[0])
		f.paths = append(f.paths, text)
	}
	return f, nil
}

func newFormText(text string) *formText {
	f, begin := &formText{}, 0
	for _, at := range gaps.FindAllStringSubmatchIndex(text, -1) {
		f.texts = append(f.texts, text[begin:at[0]])
		n, _ := strconv.Atoi(text[at[2]:at[3]]) // digits, and few
		f.gaps = append(f.gaps, n)
		begin = at[1]
	}
	f.texts = append(f.texts, text[begin:])
	return f
}

// fill appends the members of a resource with these operations and names.
func (f *form) fill(b []byte, operations []*operation, names []string) []byte {
	paths := slices.SortedFunc(slices.Values(f.paths), func(x, y *formText) int {
		return strings.Compare(operations[x.operation].path, operations[y.operation].path)
	})
	for _, text := range paths {
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), operations[text.operation].path...), '"')
		for n, gap := range text.gaps {
			b = append(append(b, text.texts[n]...), names[gap]...)
		}
		b = append(b, text.texts[len(text.gaps)]...)
	}
	return b
}
