package vendorize

import (
	"strings"
	"testing"
)

func TestARootForTestsHasCaptestAndABuildHasNot(t *testing.T) {
	build, tests := newRoot(t), (*Root)(nil)
	tests, err := NewTest("example.com/web")
	if err != nil {
		t.Fatal(err)
	}
	const name = "vendor/github.com/loomext/loomext/prelude/cap/captest/captest.go"
	if _, ok := build.File(name); ok {
		t.Error("a build carries captest")
	}
	if _, ok := tests.File(name); !ok {
		t.Error("a test lacks captest")
	}
	for path := range tests.Files() {
		if strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s is a test of ours", path)
		}
	}
	modules, _ := tests.File("vendor/modules.txt")
	if !strings.Contains(string(modules), "\ngithub.com/loomext/loomext/prelude/cap/captest\n") {
		t.Errorf("modules.txt does not list captest:\n%s", modules)
	}
	plain, _ := build.File("vendor/modules.txt")
	if len(strings.Split(string(modules), "\n")) != len(strings.Split(string(plain), "\n"))+1 {
		t.Error("modules.txt differs by more than captest")
	}
	if Digest() == TestDigest() {
		t.Error("the two have one digest")
	}
}

func TestNoTestFileTakesThePlaceOfOurs(t *testing.T) {
	root, err := NewTest("example.com/web")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "Vendor/x", "vendor/github.com/loomext/loomext/prelude/ext/x_test.go", "loom_satellite/x_test.go", "../x", "/x", "a/../x", "", "."} {
		if err := root.AddTest(name, nil); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
	for _, name := range []string{"tool/tool_test.go", "tool/testdata/.golden file", "schema/x.json", "extension.toml"} {
		if err := root.AddTest(name, nil); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
