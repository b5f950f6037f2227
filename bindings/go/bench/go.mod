module github.com/bloomfile/bloomfile/bindings/go/bench

go 1.19

require (
	github.com/bits-and-blooms/bloom/v3 v3.7.1
	github.com/bloomfile/bloomfile/bindings/go v0.0.0
)

require (
	github.com/bits-and-blooms/bitset v1.24.2 // indirect
	github.com/klauspost/cpuid/v2 v2.0.9 // indirect
	github.com/zeebo/xxh3 v1.0.2 // indirect
)

replace github.com/bloomfile/bloomfile/bindings/go => ../
