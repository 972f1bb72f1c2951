/** `scripts/container.mjs` builds the image and tries it, which CI does. */
import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { ROOT, run } from '../../support/install/run.ts';
import { hasProgram, isAvailable } from '../../support/programs.ts';

/** Each starts processes in namespaces of their own, on a busy machine. */
const SLOW_MS = 60_000;
const canRun = isAvailable(
  'images, as root',
  process.platform === 'linux' && process.getuid?.() === 0 && hasProgram('buildah'),
);

const folder = temporaryFolder(deferTo(afterAll));

it.skipIf(!canRun)(
  'the image gets none of the irrelevant files: packages, builds, the repository, others',
  { timeout: SLOW_MS },
  async () => {
    const context = path.join(folder, 'context');
    const taken = ['package.json', 'package-lock.json', 'LICENSE', 'src/main.ts', 'scripts/sbom.mjs'];
    const others = ['.git/config', 'node_modules/one/index.js', 'dist/main.js', '.npmrc', '.env', 'config/tls.key'];
    for (const name of [...taken, ...others, '.ci/run', 'test/src/main.ts', 'scripts/deb.mjs']) {
      mkdirSync(path.dirname(path.join(context, name)), { recursive: true });
      writeFileSync(path.join(context, name), '');
      // A fault, so that the reason lists the files in the image.
      chmodSync(path.join(context, name), 0o666);
    }
    cpSync(path.join(ROOT, '.dockerignore'), path.join(context, '.dockerignore'));
    const file = path.join(folder, 'Dockerfile.all');
    writeFileSync(file, 'FROM scratch\nCOPY . /\nENTRYPOINT ["/src/main.ts"]\n');
    const words = ['scripts/container.mjs', '--once', '--file', file, '--context', context];
    const { stderr } = await run(process.execPath, words);
    const found = [...stderr.matchAll(/\/(\S+) is writable by others$/gm)].map(([, name]) => name);
    expect(found.sort()).toEqual(taken.sort());
  },
);
