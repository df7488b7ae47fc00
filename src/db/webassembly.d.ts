/**
 * What the database uses of WebAssembly. The types of Node.js lack it; those of browsers have it.
 */
declare namespace WebAssembly {
  // biome-ignore lint/suspicious/noEmptyInterface: merges with the interface of browsers, which an alias would not
  interface Module {}
  function compile(bytes: Uint8Array): Promise<Module>;
}
