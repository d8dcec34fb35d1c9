package keep

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// A file of keys is
//
//	magic                                  8 bytes, its last but one the version
//	'K' db ttl len(key) key len(value) value    for each key
//	'E' number of keys
//	SHA-256 of all before                  32 bytes
//
// where numbers are unsigned varints (encoding/binary), ttl is in milliseconds
// and 0 for a key without one, and value is what DUMP says.
const (
	magic     = "RBKEYS1\n"
	markKey   = 'K'
	markEnd   = 'E'
	valueMost = 512 << 20 // what RESTORE takes (proto-max-bulk-len)
)

// record is one key.
type record struct {
	db, ttl    uint64
	key, value []byte
}

// writer writes a file of keys.
type writer struct {
	f   io.Writer
	buf *bufio.Writer // into f and sum
	sum hash.Hash
	n   int64
}

func newWriter(f io.Writer) (*writer, error) {
	w := &writer{f: f, sum: sha256.New()}
	w.buf = bufio.NewWriterSize(io.MultiWriter(f, w.sum), 1<<16)
	_, err := w.buf.WriteString(magic)
	return w, err
}

func (w *writer) put(r record) error {
	if len(r.value) > valueMost {
		return fmt.Errorf("key %q takes %d bytes, and RESTORE takes at most %d", r.key, len(r.value), valueMost)
	}
	w.n++
	head := binary.AppendUvarint([]byte{markKey}, r.db)
	head = binary.AppendUvarint(head, r.ttl)
	head = binary.AppendUvarint(head, uint64(len(r.key)))
	head = append(head, r.key...)
	head = binary.AppendUvarint(head, uint64(len(r.value)))
	if _, err := w.buf.Write(head); err != nil {
		return err
	}
	_, err := w.buf.Write(r.value)
	return err
}

// end writes what follows the last key.
func (w *writer) end() error {
	if _, err := w.buf.Write(binary.AppendUvarint([]byte{markEnd}, uint64(w.n))); err != nil {
		return err
	}
	if err := w.buf.Flush(); err != nil {
		return err
	}
	_, err := w.f.Write(w.sum.Sum(nil))
	return err
}

// reader reads a file of keys that checkFile has found right.
type reader struct {
	buf *bufio.Reader
	n   uint64
}

func newReader(f io.Reader) (*reader, error) {
	r := &reader{buf: bufio.NewReaderSize(f, 1<<16)}
	return r, readMagic(r.buf)
}

func readMagic(f io.Reader) error {
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(f, head); err != nil {
		return errTruncated
	}
	if string(head) != magic {
		return errors.New("it is no file of keys, or of another version of rankbench")
	}
	return nil
}

var errTruncated = errors.New("it is truncated")

// next reads one key. The error is io.EOF after the last one.
func (r *reader) next() (record, error) {
	switch mark, err := r.buf.ReadByte(); {
	case err != nil:
		return record{}, errTruncated
	case mark == markEnd:
		return record{}, r.end()
	case mark != markKey:
		return record{}, fmt.Errorf("its key %d begins with %q", r.n+1, mark)
	}
	r.n++
	var k record
	var errs [4]error
	k.db, errs[0] = r.number()
	k.ttl, errs[1] = r.number()
	k.key, errs[2] = r.text()
	k.value, errs[3] = r.text()
	return k, errors.Join(errs[:]...)
}

// end checks the number of keys.
func (r *reader) end() error {
	n, err := binary.ReadUvarint(r.buf)
	if err != nil || n != r.n {
		return fmt.Errorf("it says %d keys and has %d", n, r.n)
	}
	return io.EOF
}

// number reads a number. Where the file ends is no io.EOF: that is next's word
// for a file that is whole.
func (r *reader) number() (uint64, error) {
	n, err := binary.ReadUvarint(r.buf)
	if err != nil {
		return 0, errTruncated
	}
	return n, nil
}

func (r *reader) text() ([]byte, error) {
	n, err := r.number()
	if err != nil {
		return nil, err
	}
	if n > valueMost {
		return nil, fmt.Errorf("its key %d has a part of %d bytes", r.n, n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r.buf, text); err != nil {
		return nil, errTruncated
	}
	return text, nil
}

// checkFile checks the header and the checksum of a file of keys.
func checkFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := check(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func check(f io.ReadSeeker) error {
	if err := readMagic(f); err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum, want := sha256.New(), make([]byte, sha256.Size)
	if _, err := io.CopyN(sum, f, max(0, size-sha256.Size)); err != nil {
		return err
	}
	if _, err := io.ReadFull(f, want); err != nil || !bytes.Equal(sum.Sum(nil), want) {
		return errors.New("it is truncated or changed: its checksum is wrong")
	}
	return nil
}
