package egress_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/loomext/loomext/egress"
)

// A host makes one client, and gives each request the policy of whoever asks for it.
func Example() {
	client, err := egress.New(egress.Options{
		Secret: func(_ context.Context, name string) (egress.Secret, error) {
			return egress.NewSecret([]byte(os.Getenv(name)))
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	policy := egress.Policy{
		Hosts: []string{"api.example.com"}, Methods: []string{"GET"}, MaxResponseBytes: 1 << 20,
		Secrets: []egress.Credential{{Env: "LOOMEXT_EXAMPLE_KEY", Host: "api.example.com", Header: "Authorization", Format: "Bearer {}"}},
	}
	for _, url := range []string{"https://api.example.com@elsewhere.example/", "https://elsewhere.example/", "https://api.example.com/v1/items"} {
		_, err := client.Do(context.Background(), policy, egress.Request{Method: "GET", URL: url})
		if e, ok := errors.AsType[*egress.Error](err); ok {
			fmt.Printf("%s: %s\n", e.Kind, e.Msg)
		}
	}
	// Output:
	// invalid: url: it has a user or a password before an @; leave them out, a credential is a [[net.secret]]
	// not allowed: url: the host "elsewhere.example" is not one of those that were approved; name it in hosts of [net]
	// no secret: LOOMEXT_EXAMPLE_KEY: secret: the value is empty; set it
}
