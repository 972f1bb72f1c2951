/**
 * Known vulnerabilities of Node.js that matter here. `npm run audit` compares a release with this list, the builds
 * compare their Node.js with it, and a start warns. It has only holes whose code this program uses; the sources have all
 * of them. A new entry changes `engines` in package.json and the Dockerfile; tests name what else.
 * scripts/package-advisories.json has those of packages.
 */

export interface Advisory {
  readonly id: string;
  /** A day, or a month if no more is known. */
  readonly published: string;
  readonly hole: string;
  /** The first fixed version of each line that got a fix. Lines newer than all of them have it as well. */
  readonly fixedIn: readonly string[];
  readonly source: string;
}

/** The day on which the sources were last searched for new entries. */
export const REVIEWED = '2026-11-26';

const BROTLI = 'CVE-2026-111497';
const ANNOUNCED = 'https://nodejs.org/en/blog/vulnerability';

export const NODE_ADVISORIES: readonly Advisory[] = [
  {
    id: BROTLI,
    published: '2026-10',
    hole: 'its brotli decoder can be made to run code of the sender',
    fixedIn: ['22.23.4', '24.22.1', '26.12.1'],
    source: `https://www.cve.org/CVERecord?id=${BROTLI}`,
  },
  {
    id: 'CVE-2026-106074',
    published: '2026-10',
    hole: 'single executable files repeat the results of randomUUID and randomInt',
    fixedIn: ['22.23.4', '24.22.1', '26.12.1'],
    source: 'https://www.cve.org/CVERecord?id=CVE-2026-106074',
  },
  {
    id: 'CVE-2026-58044',
    published: '2026-07-29',
    hole: 'its HTTP parser drops fields beyond a limit and still frames by them',
    fixedIn: ['22.23.2', '24.18.1', '26.5.1'],
    source: `${ANNOUNCED}/july-2026-security-releases`,
  },
  {
    id: 'CVE-2026-48618',
    published: '2026-06-18',
    hole: 'a wildcard certificate matches host names with other dots of Unicode',
    fixedIn: ['22.23.0', '24.17.0', '26.3.1'],
    source: `${ANNOUNCED}/june-2026-security-releases`,
  },
  {
    id: 'CVE-2026-21637',
    published: '2026-03-24',
    hole: 'an exception while a TLS handshake chooses its certificate ends the process',
    fixedIn: ['20.20.2', '22.22.2', '24.14.1', '25.8.2'],
    source: `${ANNOUNCED}/march-2026-security-releases`,
  },
];

/** Those of `advisories` that `version`, e.g. `26.10.0`, has no fix for. Prereleases and other forms count as unfixed. */
export function findOpen(advisories: readonly Advisory[], version: string): readonly Advisory[] {
  return advisories.filter(({ fixedIn }) => !isFixed(version, fixedIn));
}

/** Whether this version of Node.js decodes brotli without CVE-2026-111497. */
export function hasSafeBrotli(version: string): boolean {
  return findOpen(NODE_ADVISORIES, version).every(({ id }) => id !== BROTLI);
}

/** The oldest version of each line of Node.js without a known hole, oldest line first, e.g. `22.23.4`. */
export function listSafeRuntimes(): readonly string[] {
  const fixed = [...new Set(NODE_ADVISORIES.flatMap(({ fixedIn }) => fixedIn))];
  const safe = fixed.filter((version) => findOpen(NODE_ADVISORIES, version).length === 0);
  return safe.sort((one, other) => parseVersion(one)[0] - parseVersion(other)[0]);
}

/** E.g. `Node.js 26.10.0 has known vulnerabilities: CVE-2026-111497 (...)`; undefined for a version without one. */
export function describeHoles(version: string): string | undefined {
  const open = findOpen(NODE_ADVISORIES, version).map(({ id, hole }) => `${id} (${hole})`);
  if (open.length === 0) return undefined;
  return `Node.js ${version} has known vulnerabilities: ${open.join(', ')}; expected ${listSafeRuntimes().join(', ')}, or later in these lines`;
}

function isFixed(version: string, fixedIn: readonly string[]): boolean {
  const [major, minor, patch] = parseVersion(version);
  const fixes = fixedIn.map(parseVersion);
  if (fixes.every(([line]) => major > line)) return true;
  return fixes.some(
    ([line, ...rest]) => major === line && (minor > rest[0] || (minor === rest[0] && patch >= rest[1])),
  );
}

/** NaN, which is above and below nothing, for what is no released version. */
function parseVersion(version: string): readonly [major: number, minor: number, patch: number] {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)$/.exec(version) ?? [];
  return [Number(major), Number(minor), Number(patch)];
}
