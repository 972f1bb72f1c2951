/** `scripts/container.mjs` runs the Dockerfile itself, which CI does; here, that it fails where the file does not hold. */
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, run } from './run.ts';

const DOCKERFILE = readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8');
/** Each starts processes in namespaces of their own, on a machine that others keep busy. */
const SLOW_MS = 60_000;
/** `nobody`, on any Linux. */
const NOBODY = '65534';
const canRun = process.platform === 'linux' && process.getuid?.() === 0;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'd2s-dockerfile-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the Dockerfile', () => {
  it('has the labels of the package', () => {
    const { version, description, license } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
    for (const [label, value] of Object.entries({ version, description, licenses: license })) {
      expect(DOCKERFILE).toContain(`org.opencontainers.image.${label}="${value}"`);
    }
  });

  it('does not get what is none of its business: packages, builds, the repository, whatever lies beside it', async () => {
    const { createIgnore } = (await import(pathToFileURL(path.join(ROOT, 'scripts/container/ignore.mjs')).href)) as {
      createIgnore: (text: string) => (file: string) => boolean;
    };
    const isTaken = createIgnore(readFileSync(path.join(ROOT, '.dockerignore'), 'utf8'));
    for (const name of ['package.json', 'package-lock.json', 'src', 'src/main.ts', 'scripts/sbom.mjs', 'LICENSE'])
      expect(isTaken(name), name).toBe(true);
    for (const name of [
      '.git',
      '.git/config',
      'node_modules',
      'dist',
      '.npmrc',
      '.env',
      'config/tls.key',
      '.ci/run',
      'test',
    ])
      expect(isTaken(name), name).toBe(false);
  });

  it('takes a base image by a version of its own', () => {
    expect(DOCKERFILE).toMatch(/^ARG NODE_IMAGE=node:\d+\.\d+\.\d+-[a-z]+-slim$/m);
  });

  it.skipIf(!canRun && process.env.D2S_REQUIRE_CONTAINER === undefined)(
    'is not tried by a user who cannot, or on a machine that lacks what it takes, and it says so',
    { timeout: SLOW_MS },
    async () => {
      // A folder that everybody may read, which that of the project need not be.
      const place = path.join(folder, 'readable');
      cpSync(path.join(ROOT, '.ci'), place, { recursive: true });
      chmodSync(folder, 0o755);
      const script = path.join(place, 'container.mjs');
      const rights = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
      const asNobody = await run('setpriv', [...rights, process.execPath, script], { cwd: '/' });
      expect(asNobody).toEqual({
        ...{ code: 1, stdout: '' },
        stderr: 'container: has to be run as root, since it mounts: sudo node scripts/container.mjs\n',
      });
      const without = await run(process.execPath, [script], { env: { PATH: folder } });
      expect(without.stderr).toBe(
        "container: not found: unshare, mount, setpriv, chroot (of Debian's util-linux, mount and coreutils)\n",
      );
      expect(without.code).toBe(1);
    },
  );

  it.skipIf(!canRun && process.env.D2S_REQUIRE_CONTAINER === undefined).each<[string, string, string]>([
    ['an instruction that cannot be run', 'FROM scratch\nVOLUME /tmp\n', 'line 2: VOLUME: not an instruction'],
    [
      'an entry point that needs a shell',
      'FROM scratch\nENTRYPOINT d2-sidecar\n',
      'line 2: ENTRYPOINT: expected the form',
    ],
    [
      'a health check that needs a shell',
      'FROM scratch\nHEALTHCHECK CMD curl x\n',
      'line 2: HEALTHCHECK: expected the form',
    ],
    ['an option that is not known', 'FROM scratch\nCOPY --link src /\n', 'line 2: COPY:'],
    [
      'a file that is kept out',
      'FROM scratch\nCOPY README.md /\n',
      'line 2: COPY: README.md: .dockerignore keeps it out',
    ],
    ['a file that is not there', 'FROM scratch\nCOPY src/absent.ts /\n', 'line 2: COPY: ENOENT'],
    [
      'a stage that is not there',
      'FROM scratch\nCOPY --from=built / /\n',
      'line 2: COPY: built: no stage has that name',
    ],
    ['a name that is not set', `FROM scratch\nENV A=\${B}\n`, 'line 2: ENV: B is not set'],
    [
      'a step that fails',
      'FROM node\n# a comment\nRUN echo why >&2; \\\n    exit 3\n',
      'line 3: RUN: ended with 3\nwhy',
    ],
    ['a shell in the image', 'FROM scratch\nCOPY src/main.ts /bin/sh\nENTRYPOINT ["/bin/sh"]\n', '/bin/sh'],
    ['no entry point', 'FROM scratch\nCOPY src/main.ts /\n', 'the last stage has no ENTRYPOINT'],
  ])('is not taken with %s', { timeout: SLOW_MS }, async (_, text, reason) => {
    const file = path.join(folder, 'Dockerfile');
    writeFileSync(file, text);
    const { code, stderr } = await run(process.execPath, ['scripts/container.mjs', '--once', '--file', file]);
    expect(stderr).toContain(reason);
    expect(code).toBe(1);
  });
});
