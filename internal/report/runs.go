package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rankbench/rankbench/internal/compare"
	"github.com/rankbench/rankbench/internal/result"
)

// ReadRuns reads the folders of runs that are to be compared. The folder of a series
// stands for those of its runs, with those that did not come to their end.
func ReadRuns(paths []string) ([]compare.Run, error) {
	var runs []compare.Run
	for _, path := range paths {
		folders, err := runFolders(path)
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			r, err := readRun(folder)
			if err != nil {
				return nil, err
			}
			runs = append(runs, r)
		}
	}
	return runs, nil
}

func readRun(folder string) (compare.Run, error) {
	run, err := result.ReadRun(folder)
	if err != nil {
		return compare.Run{}, err
	}
	s, err := Summarize(folder)
	if err != nil {
		return compare.Run{}, err
	}
	whole, err := filepath.Abs(folder)
	if err != nil {
		return compare.Run{}, fmt.Errorf("read run: %w", err)
	}
	return compare.Run{Folder: filepath.Clean(folder), Parent: filepath.Base(filepath.Dir(whole)), Conditions: conditions(run, s), Summary: s}, nil
}

// runFolders are the folders of a series, or the folder itself.
func runFolders(path string) ([]string, error) {
	data, err := os.ReadFile(filepath.Join(path, result.RepeatsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return []string{path}, nil
	}
	var series result.Repeats
	if err == nil {
		err = json.Unmarshal(data, &series)
	}
	if err != nil {
		return nil, fmt.Errorf("read series %s: %w", path, err)
	}
	var folders []string
	for _, r := range series.Runs {
		folders = append(folders, filepath.Join(path, filepath.Base(r.Folder)))
	}
	unfinished, err := filepath.Glob(filepath.Join(escapeGlob(path), "run-*", result.RunFile))
	if err != nil {
		return nil, fmt.Errorf("read series %s: %w", path, err)
	}
	for _, file := range unfinished { // those that were put aside and run again are not the series' any more
		if folder := filepath.Dir(file); !slices.Contains(folders, folder) && !strings.Contains(filepath.Base(folder), ".cut-off-") {
			folders = append(folders, folder)
		}
	}
	if len(folders) == 0 {
		return nil, fmt.Errorf("read series %s: there is no run in it", path)
	}
	return folders, nil
}

var globEscapes = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`)

func escapeGlob(path string) string { return globEscapes.Replace(path) }
