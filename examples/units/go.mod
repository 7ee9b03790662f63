module example.com/units

go 1.26.0

require github.com/loomext/loomext v0.0.0

replace github.com/loomext/loomext => ../..
