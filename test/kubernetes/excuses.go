package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
)

// inside is the class of tests that reach into the process of the server. They fail with kube-apiserver in another one.
const inside = "inside"

// classes are the classes of excuses, which excused.txt explains.
var classes = []string{inside, "gate", "limit", "differs"}

// excuse says why a test, with its subtests, need not pass.
type excuse struct {
	pkg, test, class, reason string
}

// covers says whether the excuse is for a test.
func (e excuse) covers(pkg, test string) bool {
	return e.pkg == pkg && (e.test == test || strings.HasPrefix(test, e.test+"/"))
}

type excuses []excuse

// find returns the excuse of a test.
func (all excuses) find(pkg, test string) (excuse, bool) {
	for _, e := range all {
		if e.covers(pkg, test) {
			return e, true
		}
	}
	return excuse{}, false
}

// readExcuses reads excused.txt. A line has a package, a test, a class and a reason.
func readExcuses(path string) (excuses, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all excuses
	lines := bufio.NewScanner(bytes.NewReader(content))
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 {
			return nil, fmt.Errorf("%s:%d: a package, a test, a class and a reason are needed", path, number)
		}
		if !slices.Contains(classes, fields[2]) {
			return nil, fmt.Errorf("%s:%d: class %q is none of %s", path, number, fields[2], strings.Join(classes, ", "))
		}
		all = append(all, excuse{pkg: fields[0], test: fields[1], class: fields[2], reason: strings.Join(fields[3:], " ")})
	}
	return all, lines.Err()
}
