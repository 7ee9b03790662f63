package tomlfile

import "testing"

func TestHiddenCharacters(t *testing.T) {
	for _, r := range "\x00\x07\t\n\r\x1b\x7f\u0085\u00ad\u034f\u061c\u115f\u180e\u200b\u200d\u200e\u2028\u2029\u202e\u2060\u2066\u3164\ufe00\ufeff\uffa0\ufff9\U000e0001\U000e0041\U000e0100\ue000" {
		if _, found := Hidden("a"+string(r)+"b", ""); !found {
			t.Errorf("%U is not hidden", r)
		}
		if _, found := Hidden("a"+string(r)+"b", string(r)); found {
			t.Errorf("%U is not permitted", r)
		}
	}
	if name, found := Hidden("plain é 日本語 ✓ ⚠️ “quoted” – 1\u00a02", ""); found {
		t.Errorf("%s is hidden", name)
	}
}
