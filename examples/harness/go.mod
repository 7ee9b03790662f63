module example.com/harness

go 1.26.0

require github.com/loomext/loomext v0.0.0

require (
	github.com/BurntSushi/toml v1.6.0 // indirect
	github.com/github/go-spdx/v2 v2.8.0 // indirect
	github.com/gofrs/flock v0.13.2 // indirect
	github.com/gowebpki/jcs v1.0.2 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/vmihailenco/msgpack/v5 v5.4.1 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	golang.org/x/mod v0.43.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)

replace github.com/loomext/loomext => ../..
