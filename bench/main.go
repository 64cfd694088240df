package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	parts := flag.String("parts", "", "parts to run, comma separated: "+strings.Join(partNames(), ", ")+
		"; all these by default; and "+partGrowth)
	output := flag.String("output", filepath.Join("..", "build", "bench"), "directory for the programs and the results")
	b := &Bench{}
	flag.IntVar(&b.Objects, "objects", 10000, "objects that are created")
	flag.DurationVar(&b.Load, "load", 5*time.Second, "how long each load lasts")
	flag.StringVar(&b.CRDs, "crds", "", "directory of CRDs (YAML or JSON) for the part crds; without one, CRDs like "+
		"those of a large provider are generated")
	flag.IntVar(&b.MaxCRDs, "max-crds", 2065, "bounds the number of CRDs")
	flag.BoolVar(&b.Alone, "alone", false, "measure crd-server only")
	flag.StringVar(&b.Profiles, "profiles", "", "directory for profiles of crd-server; taking them changes the figures "+
		"a little")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, b, *parts, *output); err != nil {
		fmt.Fprintln(os.Stderr, "\nbench:", err)
		os.Exit(1)
	}
}

// run builds, measures and reports. After a failure it reports what it has measured.
func run(ctx context.Context, b *Bench, parts, output string) error {
	names := partNames()
	if parts != "" {
		names = strings.Split(parts, ",")
	}
	for _, dir := range []string{output, b.Profiles} {
		if err := os.MkdirAll(cmp.Or(dir, "."), 0o755); err != nil {
			return err
		}
	}
	var err error
	if b.Programs, err = build(ctx, output); err != nil {
		return err
	}
	report := Report{Machine: machine(), When: time.Now(), LoadBefore: loadAverage()}
	failed := b.run(ctx, names)
	report.Rows, report.LoadAfter = b.Results.rows, loadAverage()
	report.Took = time.Since(report.When).Round(time.Second).String()
	fmt.Fprint(os.Stderr, "\r\033[K")
	if err := report.WriteTable(os.Stdout); err != nil {
		return err
	}
	files := map[string]func(io.Writer) error{
		"results.json": report.WriteJSON, "results.md": report.WriteTable, "results.svg": report.WritePlot,
	}
	if slices.Contains(names, partGrowth) {
		files["growth.svg"] = report.WriteGrowth
	}
	for file, write := range files {
		if err := writeFile(filepath.Join(output, file), write); err != nil {
			return err
		}
	}
	return failed
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	return file.Close()
}
