package secret

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// made is a credential put together at run time, so that no scanner of this repository takes the
// test for a leak.
func made(parts ...string) string { return strings.Join(parts, "") }

func jwt(header string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"1"}`)) + ".dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
}

func TestSecretsAreTakenOut(t *testing.T) {
	pem := "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\nAAAABG5vbmU=\n-----END OPENSSH PRIVATE KEY-----"
	for _, tt := range []struct{ kind, before, value, after string }{
		{"AWS access key", "id: ", made("AKIA", "Q3EGRIQ7XJ2LQABC"), "\n"},
		{"GitHub token", "https://", made("ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"), "/x"},
		{"GitHub token", "", made("github_pat_", "11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ0123456789"), ""},
		{"GitLab token", "PRIVATE-TOKEN: ", made("glpat-", "xYz12AbCdEfGhIjKlMnO"), ""},
		{"Slack token", "use ", made("xoxb-", "123456789012-abcdefABCDEF"), " now"},
		{"Google API key", "key=", made("AIza", "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"), "&x=1"},
		{"Stripe key", "", made("sk_", "live_4eC39HqLyjWDarjtT1zdp7dc"), ""},
		{"API key", "", made("sk-", "ant-api03-A1b2C3d4E5f6G7h8I9j0K1l2M3n4"), ""},
		{"npm token", "//registry/:_auth ", made("npm_", "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"), ""},
		{"private key", "here:\n", pem, "\nthat was it"},
		{"private key", "cut off: ", strings.TrimSuffix(pem, "-----END OPENSSH PRIVATE KEY-----"), ""},
		{"JWT", "cookie ", jwt(`{"alg":"HS256","typ":"JWT"}`), "; x"},
		{"password in a URL", "postgres://app:", "s3cr3tPa55", "@db.internal:5432/x"},
		{"authorization", "Authorization: Bearer ", "abcDEF123456ghiJKL", "\r\n"},
		{"password", "DB_PASSWORD=", "hunter22", "\n"},
		{"password", `"password": "`, "correct-Horse7", `"`},
		{"password", "password: '", "Tr0ub4dor&3 x", "'"},
		{"token", "export API_TOKEN=", "9f86d081884c7d659a2feaa0c55ad015", ""},
		{"key", `api_key = "`, "Zx81mQ4vT7pLw0rK", `"`},
		{"key", "aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzxkWq19Kd0", "\n"},
		{"secret", "client.secret: ", "q8Zr2Lk9Wm4Xc7Vb", "\n"},
		{"token", "token=", "3b241101-e2bb-4255-8caf-4136c566a962", "&user=me"},
	} {
		got, kinds := Redact(tt.before + tt.value + tt.after)
		want := tt.before + Marker(tt.kind) + tt.after
		if got != want || len(kinds) != 1 || kinds[0] != tt.kind {
			t.Errorf("%q became %q %v, want %q", tt.before+tt.value+tt.after, got, kinds, want)
		}
		if again, kinds := Redact(got); again != got || kinds != nil {
			t.Errorf("%q is changed once more, to %q", got, again)
		}
	}
}

func TestWhatIsNoSecretStays(t *testing.T) {
	for _, text := range []string{
		"", "hello", "password", "password:", "the password is wrong", "password: string", "password = get_password()", "password=$DB_PASSWORD", "PASSWORD=${PASSWORD}",
		"password: <your password>", "password = changeme", "token: string", "token_count: 1234567890123456", "max_tokens = 4096000000000000", "secret_name: my-service-credentials-prod",
		"api_key = process.env.API_KEY_2024_PROD", `apiKey: os.environ["API_KEY_2"]`, "token = ********************", "token: ${{ secrets.GITHUB_TOKEN_2 }}",
		"commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"golang.org/x/sys v0.1.0 h1:kunALQeHf1/185U1i0GOB/fy1IPRDDpuOOqRReqpMzg=", "id 3b241101-e2bb-4255-8caf-4136c566a962",
		"AKIAIOSFODNN7EXAMPLE", "https://example.com:8080/path@2", "git@github.com:me/x.git", "ssh://git@host/x", "eyJub3QiOiJqd3QifQ.eyJhIjoxfQ.c2lnbmF0dXJlc2lnbmF0dXJl", "eyJhbGciOi", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "sk-learn is a library and scikit-learn-contrib-extras too", "key: value", "primary_key: user_id_of_the_row_2024x", "private_key: ./keys/server_2024_01.pem", "secret: /run/secrets/db_1234567890",
		"bearer of bad news arrives tomorrow", "Authorization: Bearer <token>", "func token(s string) string", `{"password_reset": "2026-11-30T17:00:00Z"}`, "tokens: 15 in, 20 out",
	} {
		if got, kinds := Redact(text); got != text || kinds != nil {
			t.Errorf("%q became %q %v", text, got, kinds)
		}
	}
}

func TestADocumentKeepsEverythingElse(t *testing.T) {
	for before, after := range map[string]string{
		`{ "n" : 1.0, "big": 12345678901234567890, "text":"a <b> \u00e9" }`:                      `{ "n" : 1.0, "big": 12345678901234567890, "text":"a <b> \u00e9" }`,
		`{"password":"hunter22","n":1e3,"z":1,"a":[{"apiKey":"Zx81mQ4vT7pLw0rK"}]}`:              `{"password":"[redacted: password]","n":1e3,"z":1,"a":[{"apiKey":"[redacted: key]"}]}`,
		`{"password":["hunter22"],"content":"export TOKEN=9f86d081884c7d659a2feaa0c55ad015\nx"}`: `{"password":["hunter22"],"content":"export TOKEN=[redacted: token]\nx"}`,
		`"PASSWORD=hunter22"`:                        `"PASSWORD=[redacted: password]"`,
		`{"content":"{\"password\": \"hunter22\"}"}`: `{"content":"{\"password\": \"[redacted: password]\"}"}`,
		`{"a":"\"","password":"hunter22\\"}`:         `{"a":"\"","password":"[redacted: password]"}`,
		`17`:                                         `17`, `nope`: `nope`, `{"password":`: `{"password":`,
	} {
		if got, _ := Document([]byte(before)); string(got) != after {
			t.Errorf("%s\nbecame %s\nwant   %s", before, got, after)
		}
	}
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"password":"hunter22","a":[1,"token=9f86d081884c7d659a2feaa0c55ad015"]}`))
	f.Add([]byte(`"-----BEGIN PRIVATE KEY-----"`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		clean, kinds := Document(raw)
		switch {
		case kinds == nil && string(clean) != string(raw):
			t.Fatalf("%q was changed and nothing found", raw)
		case json.Valid(raw) != json.Valid(clean):
			t.Fatalf("%q became %q", raw, clean)
		}
	})
}
