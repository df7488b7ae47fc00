// The flag of `unoptimizedWasm` for programs that are started by other programs, such as npm:
// `NODE_OPTIONS` refuses the flag itself.
require('node:v8').setFlagsFromString('--liftoff-only');
