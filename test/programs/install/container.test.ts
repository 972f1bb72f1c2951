/** `scripts/container.mjs` builds the image and tries it, which CI does; this tests that it fails for a bad Dockerfile. */

import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { ROOT, run } from '../../support/install/run.ts';
import { isAvailable } from '../../support/programs.ts';

const DOCKERFILE = readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8');
/** Each starts processes in namespaces of their own, on a busy machine. */
const SLOW_MS = 60_000;
/** `nobody`, on any Linux. */
const NOBODY = '65534';
const hasBuildah = () => spawnSync('buildah', ['--version']).error === undefined;
const canRun = isAvailable('images, as root', process.platform === 'linux' && process.getuid?.() === 0 && hasBuildah());

const folder = temporaryFolder(deferTo(afterAll));

const FROM = 'FROM scratch\n';
const STEP = `ARG NODE_IMAGE=node\nFROM \${NODE_IMAGE}\n# a comment\n`;
const ENTRY = 'ENTRYPOINT ["/main.ts"]\n';

describe('the Dockerfile', { timeout: SLOW_MS }, () => {
  it('has the labels of the package, and pins the version of its base image', () => {
    expect(DOCKERFILE).toMatch(/^ARG NODE_IMAGE=node:\d+\.\d+\.\d+-[a-z]+-slim$/m);
    const { version, description, license } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
    for (const [label, value] of Object.entries({ version, description, licenses: license })) {
      expect(DOCKERFILE).toContain(`org.opencontainers.image.${label}="${value}"`);
    }
  });

  it.skipIf(!canRun)('gets none of the irrelevant files: packages, builds, the repository, others', async () => {
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
  });

  it.skipIf(!canRun)('is not built by an unprivileged user or on an unfit machine, and says why', async () => {
    // A folder that every user can read, unlike perhaps the project's.
    const place = path.join(folder, 'readable');
    cpSync(path.join(ROOT, 'scripts'), place, { recursive: true });
    chmodSync(folder, 0o755);
    const script = path.join(place, 'container.mjs');
    const rights = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
    const asNobody = await run('setpriv', [...rights, process.execPath, script], { cwd: '/' });
    expect(asNobody).toEqual({
      ...{ code: 1, stdout: '' },
      stderr: 'container: needs root for its mounts: sudo node scripts/container.mjs\n',
    });
    const without = await run(process.execPath, [script], { env: { PATH: folder } });
    expect(without.stderr).toBe(
      'container: not found: buildah, dpkg, unshare, mount, setpriv, chroot (Debian packages: buildah, dpkg, util-linux, mount and coreutils)\n',
    );
    expect(without.code).toBe(1);
  });

  it.skipIf(!canRun).each<[string, string, string]>([
    ['an entry point that needs a shell', `${FROM}ENTRYPOINT d2-sidecar\n`, 'ENTRYPOINT: expected the form'],
    ['a health check that needs a shell', `${FROM}${ENTRY}HEALTHCHECK CMD curl x\n`, 'HEALTHCHECK: expected the form'],
    ['an ignored file', `${FROM}COPY README.md /\n`, '1 filtered out using'],
    ['a missing stage', `${FROM}COPY --from=built / /\n`, 'COPY --from=built: no stage'],
    ['an unset variable', `${FROM}ENV A=\${B}\n${ENTRY}`, 'A is empty: a name in its value is not set'],
    ['a step that fails', `${STEP}RUN echo why >&2; \\\n    exit 3\n`, 'exit status 3'],
    ['a shell in the image', `${FROM}COPY src/main.ts /bin/sh\n${ENTRY}`, '/bin/sh must not be in the image'],
    ['a setuid program', `${FROM}COPY --chmod=4755 src/main.ts /main.ts\n${ENTRY}`, '/main.ts is setuid or setgid'],
    [
      'a file that others can write',
      `${FROM}COPY --chmod=666 src/main.ts /main.ts\n${ENTRY}`,
      '/main.ts is writable by others',
    ],
    ['no entry point', `${FROM}COPY src/main.ts /\n`, 'the last stage has no ENTRYPOINT'],
  ])('is refused with %s', async (_, text, reason) => {
    const file = path.join(folder, 'Dockerfile');
    writeFileSync(file, text);
    const place = path.join(folder, 'left');
    mkdirSync(place, { recursive: true });
    const words = ['scripts/container.mjs', '--once', '--file', file];
    const { code, stderr } = await run(process.execPath, words, { env: { TMPDIR: place } });
    expect(stderr).toContain(reason);
    expect(code).toBe(1);
    expect(readdirSync(place)).toEqual([]);
  });
});
