// The program of a media process. The build calls it with `compile`: then it only stores its
// compiled code, which a sandboxed process may not do.
import { loadBundle } from '../lib/load-bundle.js';

const isBuild = process.argv[2] === 'compile';
const { serve } = loadBundle('engine', { keepsCompiled: isBuild }) as typeof import('./main.js');
if (!isBuild) await serve();
