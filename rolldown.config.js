/**
 * A few files for what every start needs, packages included, and one for each part that is loaded only when it is needed: opening
 * some 600 files took half of the time to listening. Of minifying only what shortens local names: 20 ms and 2 MB less, and lines
 * and the names of functions and classes stay, so that what it prints in trouble can be read.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

/** What packages ask for and is not used here, or Node has already: module -> what it gets instead. */
const STAND_INS = {
  // hdr-histogram-js unpacks its WebAssembly once, which takes 30 ms in JavaScript.
  pako: "export { inflateSync as inflate } from 'node:zlib';",
  // follow-redirects (of http-proxy) prints by it where it happens to be installed; it is not among what runs.
  debug: '',
  // Of Fastify: compilers of schemas, which the monitor has none of and refuses, and its client for tests: 0.6 MB of code.
  '@fastify/ajv-compiler': '',
  '@fastify/fast-json-stringify-compiler': '',
  'light-my-request': '',
  // Of OpenTelemetry: how to find the machine's own identity, with a file for each system; no span or number names it.
  './machine-id/getMachineId': 'export const getMachineId = async () => undefined;',
};

const standIns = {
  name: 'stand-ins',
  resolveId: (id) => (Object.hasOwn(STAND_INS, id) ? `\0${id}` : undefined),
  load: (id) => (id.startsWith('\0') ? STAND_INS[id.slice(1)] : undefined),
};

const BUILD_FORM = /^[0-9A-Za-z][0-9A-Za-z.+-]{0,39}$/;

/** BUILD_COMMIT where the repository is not at hand, in a container for example; else what git tells; `unknown` without both. */
function readBuild() {
  const given = process.env.BUILD_COMMIT;
  if (given) {
    if (!BUILD_FORM.test(given))
      throw new Error('BUILD_COMMIT: expected up to 40 letters, digits, dots, plus or minus signs');
    return given;
  }
  // Without a look at .git, a tarball that is unpacked inside of another repository would take the commit of that one.
  if (!existsSync(path.join(import.meta.dirname, '.git'))) return 'unknown';
  try {
    const options = { cwd: import.meta.dirname, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'], options).trim();
  } catch {
    // No git, or a repository that belongs to somebody else: a build is worth more than its name.
    return 'unknown';
  }
}

const build = {
  name: 'build',
  load: (id) =>
    id.endsWith('/src/base/build.ts') ? `export const BUILD = ${JSON.stringify(readBuild())};` : undefined,
};

/** What the live page has beside its script; of styles first those of the charts, which ours may change. */
const PAGE_FILES = {
  'index.html': ['src/page/index.html'],
  'icon.svg': ['src/page/icon.svg'],
  'page.css': ['node_modules/uplot/dist/uPlot.min.css', 'src/page/page.css'],
};

/** The rest of the page, and all of it compressed beforehand: it is served as it is, and never compressed for a reader. */
const pageFiles = {
  name: 'page-files',
  generateBundle() {
    for (const [name, sources] of Object.entries(PAGE_FILES)) {
      const source = sources.map((file) => readFileSync(path.join(import.meta.dirname, file), 'utf8')).join('\n');
      this.emitFile({
        type: 'asset',
        fileName: `page/${name}`,
        source: name.endsWith('.css') ? toShortCss(source) : source,
      });
    }
  },
  writeBundle({ dir }, bundle) {
    for (const name of Object.keys(bundle)) {
      const file = path.join(dir, name);
      const bytes = readFileSync(file);
      writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
      writeFileSync(`${file}.br`, brotliCompressSync(bytes));
    }
  },
};

/** Without comments and indentation; more is the compression's. */
function toShortCss(text) {
  return text
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s*\n\s*/g, '\n')
    .trim();
}

const server = {
  input: { main: 'src/main.ts', 'write-schema': 'src/config/write-schema.ts' },
  platform: 'node',
  // hdr-histogram-js asks for zlib that way, for an encoding that is not used here.
  checks: { eval: false },
  plugins: [standIns, build],
  output: {
    dir: 'dist',
    format: 'esm',
    chunkFileNames: 'parts/[name]-[hash].js',
    // V8 keeps what it took to read the largest file: 4 MB less memory with packages in files of their own.
    codeSplitting: { groups: [{ name: 'packages', test: /node_modules/, entriesAware: true }] },
    // Compressing would go further, and may drop names that are asked for: proxy/gateway/proxy.ts takes out a function by its name.
    minify: { compress: false, mangle: { keepNames: true }, codegen: { removeWhitespace: false } },
  },
};

const page = {
  input: { page: 'src/page/main.tsx' },
  platform: 'browser',
  plugins: [pageFiles],
  tsconfig: 'src/page/tsconfig.json',
  output: { dir: 'dist', format: 'esm', entryFileNames: 'page/[name].js', minify: true },
};

export default [server, page];
