package config

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/loomext/loomext/internal/tomlfile"
)

// roots reads the files of certificates that are trusted beside the system's.
func (d *decoder) roots(s tomlfile.Section, n tomlfile.Node) {
	items, ok := s.Array(n, "roots", maxRootFiles, "paths")
	if !ok {
		return
	}
	var seen []string
	for _, item := range items {
		path, ok := d.path(s, item, "roots")
		if !ok || !s.Distinct(item, "roots", path, seen) {
			continue
		}
		seen = append(seen, path)
		name := tomlfile.PrintablePath(path)
		text, problem := readFile(path, maxRootFile)
		if problem != nil {
			s.Fault(item, "roots", name+": "+problem.what, problem.fix)
			continue
		}
		certificates, msg := parseRoots(text)
		if msg != "" {
			s.Fault(item, "roots", name+": "+msg, "name a PEM file that holds certificates and nothing else")
			continue
		}
		d.c.Egress.Roots = append(d.c.Egress.Roots, certificates...)
	}
}

// parseRoots reads the certificates of a PEM text. Where msg is not empty it says what is
// wrong. Text around the blocks, which programs write to tell people what they hold, is let be.
func parseRoots(text []byte) (certificates []*x509.Certificate, msg string) {
	begun := bytes.Count(text, []byte("-----BEGIN "))
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		text = rest
		if block.Type != "CERTIFICATE" {
			return nil, "it holds a block of type " + tomlfile.Quote(block.Type)
		}
		if len(certificates) == maxCertificates {
			return nil, fmt.Sprintf("it holds more than %d certificates", maxCertificates)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Sprintf("certificate %d cannot be parsed: %s", len(certificates)+1, tomlfile.Printable(err.Error()))
		}
		certificates = append(certificates, certificate)
	}
	switch {
	case begun > len(certificates): // pem.Decode passes over a block that is not whole
		return nil, fmt.Sprintf("of %d blocks %d are not whole", begun, begun-len(certificates))
	case len(certificates) == 0:
		return nil, "it holds no certificate in PEM form"
	}
	return certificates, ""
}
