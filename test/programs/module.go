package programs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// CopyModule copies a module from the module cache to a folder, which is replaced: an earlier run may have written into
// it. The module is a path, or path@version. Without a version, the main module of dir decides, where the go command
// runs. The go command checks what it downloads.
func CopyModule(ctx context.Context, dir, module, target string) error {
	printed, err := Output(ctx, dir, "go", "mod", "download", "-json", module)
	if err != nil {
		return fmt.Errorf("download %s: %w", module, err)
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(printed, &downloaded); err != nil {
		return fmt.Errorf("download %s: %w", module, err)
	}
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	if err := copyTree(downloaded.Dir, target); err != nil {
		return fmt.Errorf("copy %s: %w", module, err)
	}
	return nil
}

// copyTree copies files and makes them writable. The module cache is read-only, and os.CopyFS keeps permissions.
func copyTree(from, to string) error {
	root := os.DirFS(from)
	return fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(path))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, 0o644)
	})
}

// Output runs a program in a folder and returns what it prints. An error contains its messages.
func Output(ctx context.Context, dir, program string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = dir
	printed, err := command.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, printed,
			failed.Stderr)
	}
	return printed, err
}
