// Command mergeprofiles merges CPU profiles for the compiler and writes the result to standard output. It removes
// paths of programs and sources: the compiler uses functions and lines only.
package main

import (
	"fmt"
	"os"

	"github.com/google/pprof/profile"
)

func main() {
	if err := merge(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mergeprofiles:", err)
		os.Exit(1)
	}
}

func merge(files []string) error {
	var all []*profile.Profile
	for _, file := range files {
		p, err := read(file)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	merged, err := profile.Merge(all)
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	for _, f := range merged.Function {
		f.Filename = ""
	}
	for _, m := range merged.Mapping {
		m.File, m.BuildID = "", ""
	}
	return merged.Write(os.Stdout)
}

func read(file string) (*profile.Profile, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}
