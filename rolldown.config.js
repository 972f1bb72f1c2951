/**
 * Bundles the code of every start, packages included, into a few files, and each part that is loaded on demand into its own file:
 * opening about 600 files took half of the startup time. Minification shortens local names only (20 ms and 2 MB less), so that stack
 * traces keep their lines and the names of functions and classes.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { parse } from 'yaml';

/** Replacements for imports of packages that are unused here, or that Node.js provides: module -> source. */
const STAND_INS = {
  // hdr-histogram-js inflates its WebAssembly once, which takes 30 ms in JavaScript.
  pako: "export { inflateSync as inflate } from 'node:zlib';",
  // follow-redirects (of http-proxy) uses it only if it is installed; it is no dependency of a release.
  debug: '',
  // Fastify: the schema compilers, since the monitor uses and allows no schemas, and the test client: 0.6 MB of code.
  '@fastify/ajv-compiler': '',
  '@fastify/fast-json-stringify-compiler': '',
  'light-my-request': '',
  // OpenTelemetry: reads the machine's id, with a file for each operating system; no span or metric contains it.
  './machine-id/getMachineId': 'export const getMachineId = async () => undefined;',
};

const standIns = {
  name: 'stand-ins',
  resolveId: (id) => (Object.hasOwn(STAND_INS, id) ? `\0${id}` : undefined),
  load: (id) => (id.startsWith('\0') ? STAND_INS[id.slice(1)] : undefined),
};

const BUILD_FORM = /^[0-9A-Za-z][0-9A-Za-z.+-]{0,39}$/;

/** BUILD_COMMIT if set, e.g. in a container without the repository; otherwise the commit of git; `unknown` without both. */
function readBuild() {
  const given = process.env.BUILD_COMMIT;
  if (given) {
    if (!BUILD_FORM.test(given))
      throw new Error('BUILD_COMMIT: expected up to 40 letters, digits, dots, plus or minus signs');
    return given;
  }
  // git would otherwise report the commit of an enclosing repository for an unpacked tarball.
  if (!existsSync(path.join(import.meta.dirname, '.git'))) return 'unknown';
  try {
    const options = { cwd: import.meta.dirname, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    return execFileSync('git', ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'], options).trim();
  } catch {
    // git is missing, or refuses a repository of another user. The build goes on without a commit.
    return 'unknown';
  }
}

const build = {
  name: 'build',
  load: (id) =>
    id.endsWith('/src/base/build.ts') ? `export const BUILD = ${JSON.stringify(readBuild())};` : undefined,
};

/**
 * Converts the OpenAPI document to JSON, also for tests (vitest.config.ts): parsing the YAML at its first request would block the event
 * loop for 200 ms. The file is trusted, so the number of its aliases has no limit.
 */
export const description = {
  name: 'description',
  load(id) {
    if (!id.endsWith('/openapi.yaml')) return undefined;
    const value = parse(readFileSync(id, 'utf8'), { merge: true, maxAliasCount: -1 });
    return {
      code: `export const DESCRIPTION = JSON.parse(${JSON.stringify(JSON.stringify(value))});`,
      moduleType: 'js',
    };
  },
};

/** Makes one text of the thread of the history, also for tests: inside an executable, a thread has no file to begin with. */
export const workerSource = {
  name: 'worker-source',
  async load(id) {
    if (!id.endsWith('/src/archive/worker-source.ts')) return undefined;
    const input = path.join(import.meta.dirname, 'src/archive/worker.ts');
    const bundle = await rolldown({ input, platform: 'node', plugins: [standIns, ascii] });
    const { minify, comments } = server.output;
    const { output } = await bundle.generate({ format: 'cjs', minify, comments });
    await bundle.close();
    return { code: `export const WORKER_SOURCE = ${JSON.stringify(output[0].code)};`, moduleType: 'js' };
  },
};

/** Files of the live page besides its script. The styles of the charts come first, so that ours can override them. */
const PAGE_FILES = {
  'index.html': ['src/page/index.html'],
  'icon.svg': ['src/page/icon.svg'],
  'page.css': ['node_modules/uplot/dist/uPlot.min.css', 'src/page/page.css'],
};

/** Adds these files, and compresses all files of the page at build time: the monitor never compresses them per request. */
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

/** Removes comments and indentation; compression does the rest. */
function toShortCss(text) {
  return text
    .replace(/\/\*.*?\*\//gs, '')
    .replace(/\s*\n\s*/g, '\n')
    .trim();
}

/**
 * Escapes what is not ASCII, in strings and regular expressions: one character outside Latin-1 would make V8 keep the whole text of its
 * file with two bytes for each character, 1.3 MB in all.
 */
const ascii = {
  name: 'ascii',
  generateBundle(_options, bundle) {
    for (const output of Object.values(bundle)) {
      if (output.type !== 'chunk') continue;
      const toEscape = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
      output.code = output.code.replace(/[\u0080-\uffff]/g, toEscape);
    }
  },
};

const server = {
  input: { main: 'src/main.ts' },
  platform: 'node',
  // hdr-histogram-js loads zlib by eval, for an encoding that is not used here.
  checks: { eval: false },
  plugins: [standIns, build, description, workerSource, ascii],
  output: {
    dir: 'dist',
    format: 'esm',
    chunkFileNames: 'parts/[name]-[hash].js',
    // V8 keeps the memory that it needed to parse the largest file: separate files for packages save 4 MB.
    codeSplitting: { groups: [{ name: 'packages', test: /node_modules/, entriesAware: true }] },
    // Names stay readable in stack traces.
    minify: { compress: false, mangle: { keepNames: true }, codegen: { removeWhitespace: false } },
    comments: { legal: true, annotation: false, jsdoc: false },
  },
};

/** One file for scripts/executable.mjs: inside an executable, `import()` reaches only what Node.js brings. */
export const oneFile = {
  ...server,
  // Otherwise V8 compiles all packages at every start, and not only those that are used.
  optimization: { pifeForModuleWrappers: false },
  output: { ...server.output, dir: undefined, codeSplitting: false },
};

const page = {
  input: { page: 'src/page/main.tsx' },
  platform: 'browser',
  plugins: [pageFiles],
  tsconfig: 'src/page/tsconfig.json',
  output: { dir: 'dist', format: 'esm', entryFileNames: 'page/[name].js', minify: true },
};

export default [server, page];
