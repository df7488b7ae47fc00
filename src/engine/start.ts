// The program of a media process. With the argument `compile`, which the build gives, it only stores its compiled code: a sandboxed
// process cannot write there.
import { loadBundle } from '../lib/load-bundle.js';

const isBuild = process.argv[2] === 'compile';
const { serve } = loadBundle('engine', { keepsCompiled: isBuild }) as typeof import('./main.js');
if (!isBuild) await serve();
