/**
 * One file for what every start needs, packages included, and one for each part that is loaded only when it is needed: opening
 * some 600 files took half of the time to listening. Not minified, so that what it prints in trouble can be read.
 */
export default {
  input: { main: 'src/main.ts', 'write-schema': 'src/config/write-schema.ts' },
  platform: 'node',
  // hdr-histogram-js asks for zlib that way, for an encoding that is not used here.
  checks: { eval: false },
  output: { dir: 'dist', format: 'esm', chunkFileNames: 'parts/[name]-[hash].js' },
};
