module github.com/crd-server/crd-server/test/process

go 1.26.0
