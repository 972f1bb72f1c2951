/**
 * A few files for what every start needs, packages included, and one for each part that is loaded only when it is needed: opening
 * some 600 files took half of the time to listening. Of minifying only what shortens local names: 20 ms and 2 MB less, and lines
 * and the names of functions and classes stay, so that what it prints in trouble can be read.
 */

/** What packages ask for and is not used here, or Node has already: module -> what it gets instead. */
const STAND_INS = {
  // hdr-histogram-js unpacks its WebAssembly once, which takes 30 ms in JavaScript.
  pako: "export { inflateSync as inflate } from 'node:zlib';",
  // Of Fastify: compilers of schemas, which the monitor has none of and refuses, and its client for tests: 0.6 MB of code.
  '@fastify/ajv-compiler': '',
  '@fastify/fast-json-stringify-compiler': '',
  'light-my-request': '',
};

const standIns = {
  name: 'stand-ins',
  resolveId: (id) => (Object.hasOwn(STAND_INS, id) ? `\0${id}` : undefined),
  load: (id) => (id.startsWith('\0') ? STAND_INS[id.slice(1)] : undefined),
};

export default {
  input: { main: 'src/main.ts', 'write-schema': 'src/config/write-schema.ts' },
  platform: 'node',
  // hdr-histogram-js asks for zlib that way, for an encoding that is not used here.
  checks: { eval: false },
  plugins: [standIns],
  output: {
    dir: 'dist',
    format: 'esm',
    chunkFileNames: 'parts/[name]-[hash].js',
    // V8 keeps what it took to read the largest file: 4 MB less memory with packages in files of their own.
    codeSplitting: { groups: [{ name: 'packages', test: /node_modules/, entriesAware: true }] },
    // Compressing would go further, and may drop names that are asked for: gateway/proxy.ts takes out a function by its name.
    minify: { compress: false, mangle: { keepNames: true }, codegen: { removeWhitespace: false } },
  },
};
