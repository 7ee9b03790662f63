// Package region takes an argument that a client repeats in a header of its HTTP request, where what stands between the
// two can see it.
package region

import "github.com/loomext/loomext/prelude/ext"

// arguments is what the tool is called with.
type arguments struct {
	// Where it is to be done.
	Region string `json:"region,omitempty"`
}

// Run says where.
var Run = ext.Typed(func(_ ext.Ctx, a arguments) (ext.Outcome, error) {
	if a.Region == "" {
		return ext.Text("It is done here."), nil
	}
	return ext.Text("It is done in " + a.Region + "."), nil
})
