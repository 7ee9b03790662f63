module example.com/every

go 1.26.0

require github.com/loomext/loomext v0.0.0

require (
	github.com/vmihailenco/msgpack/v5 v5.4.1 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
)

replace github.com/loomext/loomext => ../../../..
