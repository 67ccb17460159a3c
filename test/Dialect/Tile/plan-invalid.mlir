// A plan is refused if it has numbers that no kernel can follow.
//
// RUN: fa4-opt %s --split-input-file --verify-diagnostics

// expected-error @+2 {{#tile.plan has store_parts = 0; a stored value leaves in at least one part}}
tile.kernel @parts() attributes {chip = "sm_100a", grid = [#tile.extent<"1">],
                                 plan = #tile.plan<mmas = early, store_parts = 0>} {
}

// -----

// expected-error @+2 {{#tile.plan has max_stages = 0; a ring has at least one stage}}
tile.kernel @stages() attributes {chip = "sm_100a", grid = [#tile.extent<"1">],
                                  plan = #tile.plan<mmas = early, max_stages = 0>} {
}
