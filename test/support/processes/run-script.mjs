// Runs the module text in its first argument; `kinora(path)` imports from the built product. A file
// of its own, because worker threads cannot start in a process that was started with --eval as a
// module.
const [script] = process.argv.splice(1, 2).slice(1);
globalThis.kinora = (path) => import(new URL(`../../../dist/${path}`, import.meta.url));
await import(`data:text/javascript,${encodeURIComponent(script)}`);
