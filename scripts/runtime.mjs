#!/usr/bin/env node
/**
 * `node scripts/runtime.mjs [yes|no]`, in the project: whether a release may contain the Node.js that runs this. Exit code 1, and its known
 * vulnerabilities, if it has any; `no` says that nothing is released, so the exit code is 0. src/base/advisories.ts has the list.
 */
import { realpathSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const LIST = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../src/base/advisories.ts');
const EXIT_USAGE = 64;

/** The exports of src/base/advisories.ts, which Node.js 20 cannot import itself. */
export async function loadAdvisories() {
  const bundle = await rolldown({ input: LIST, platform: 'node' });
  try {
    const { output } = await bundle.generate({ format: 'esm' });
    return await import(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
  } finally {
    await bundle.close();
  }
}

/** What to print after a build by a Node.js with known vulnerabilities; undefined if there is none. */
export async function findTrialReason() {
  const { describeHoles } = await loadAdvisories();
  const holes = describeHoles(process.versions.node);
  return holes === undefined ? undefined : `NOT FOR RELEASE: ${holes}`;
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [isReleased = 'yes', ...rest] = process.argv.slice(2);
  if (!['yes', 'no'].includes(isReleased) || rest.length > 0) {
    process.stderr.write('usage: node scripts/runtime.mjs [yes|no]\n');
    process.exit(EXIT_USAGE);
  }
  const reason = await findTrialReason();
  if (reason !== undefined) process.stderr.write(`${reason}\n`);
  process.exitCode = reason !== undefined && isReleased === 'yes' ? 1 : 0;
}
