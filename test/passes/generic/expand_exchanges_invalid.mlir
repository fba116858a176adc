// RUN: coopc-opt %s -p expand-exchanges --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// Three columns over 128 lanes follow no rule, and are too many to look lanes up in the
// bits of an integer: only work-group memory is left.
func.func @too_many_lanes(%v: vector<1xf32>) -> vector<1xf32> {
  // CHECK: simt.exchange: expected layouts between which shuffles cost less than work-group memory, 48 here, got #layout.row_slice<5x3, lanes = 128> and #layout.coopmatrix<5x3, lanes = 128>
  %0 = simt.exchange %v from #layout.row_slice<5x3, lanes = 128> to #layout.coopmatrix<5x3, lanes = 128> : vector<1xf32> -> vector<1xf32>
  func.return %0 : vector<1xf32>
}
