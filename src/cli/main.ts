#!/usr/bin/env node
// Nothing is imported statically: an old Node.js would fail with a SyntaxError in one of those
// files before this line runs.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`kinora: Node.js 20.19 or newer is required; this is ${process.versions.node}.\n`);
  process.exit(1);
}

// Every file that Kinora creates contains private data: videos, the database, a token.
process.umask(0o077);

// The reader of the output may have exited (`kinora asset list | head`); that must not end the
// server.
process.stdout.on('error', () => {});

// Bundled: as files of their own, the modules of the server cost three times the CPU time of a
// start.
const { loadBundle } = await import('../lib/load-bundle.js');
const { runCommandLine } = loadBundle('run', { keepsCompiled: true }) as typeof import('./run.js');
process.exit(await runCommandLine(process.argv.slice(2)));

export {};
