package credentials

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/crd-server/crd-server/internal/users"
)

// timeFormat is that of times in tables and messages, which are UTC.
const timeFormat = time.RFC3339

// Print writes the records of all users, in the order of their names, in a format: json, yaml, or a table if it is
// empty.
func (m *Manager) Print(ctx context.Context, out io.Writer, format string) error {
	records, err := m.records(ctx)
	if err != nil {
		return err
	}
	switch format {
	case "":
		return printTable(out, records)
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(records)
	case "yaml":
		encoded, err := yaml.Marshal(records)
		if err != nil {
			return err
		}
		_, err = out.Write(encoded)
		return err
	}
	return fmt.Errorf("--output must be json or yaml, not %q", format)
}

// printTable writes a row for each certificate, and one for each user who has none.
func printTable(out io.Writer, records []*users.Record) error {
	table := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tGROUPS\tCREATED\tEXPIRES\tREMOVED")
	row := func(name string, groups []string, times ...*metav1.Time) {
		fmt.Fprintf(table, "%s\t%s", name, orNone(strings.Join(groups, ",")))
		for _, t := range times {
			fmt.Fprintf(table, "\t%s", when(t))
		}
		fmt.Fprintln(table)
	}
	for _, r := range records {
		for _, c := range r.Certificates {
			row(r.Name, c.Groups, &c.Created, &c.Expires, c.Removed)
		}
		if len(r.Certificates) == 0 {
			row(r.Name, nil, nil, nil, r.Removed)
		}
	}
	return table.Flush()
}

func when(t *metav1.Time) string {
	if t == nil {
		return orNone("")
	}
	return t.UTC().Format(timeFormat)
}

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}
