/** Debian's programs that tests start. Tests of a missing one are skipped, and told at the end; with D2S_REQUIRE_PROGRAMS=1 they fail. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** What a test needs, and its packages; .ci/run installs them all. */
export const PACKAGES = {
  'a release': ['git', 'rpm', 'openssh-client', 'gcc-mingw-w64-x86-64-win32'],
  Alertmanager: ['prometheus-alertmanager'],
  'an address besides loopback': [],
  'an empty root, as root': [],
  'a compiler for Windows, and unzip': ['gcc-mingw-w64-x86-64-win32', 'unzip'],
  'a JDK': ['openjdk-17-jdk-headless'],
  Chromium: ['chromium'],
  collectd: ['collectd-core', 'libyajl2', 'libcurl3-gnutls'],
  curl: ['curl'],
  'dpkg, rpm and systemd, as root': ['systemd', 'debootstrap', 'rpm', 'cpio'],
  'fresh machines, as root': ['systemd', 'procps', 'tomcat10', 'prometheus'],
  'exim, as root': ['exim4-daemon-light'],
  haproxy: ['haproxy'],
  'Helm’s engine in Go': ['golang-go', 'golang-github-masterminds-sprig-dev', 'golang-k8s-sigs-yaml-dev'],
  'images, as root': ['buildah'],
  Jolokia: ['libjolokia-core-java', 'openjdk-17-jdk-headless'],
  nginx: ['nginx'],
  openssl: ['openssl'],
  'Pods, as root': ['iproute2'],
  Prometheus: ['prometheus'],
  sqlite3: ['sqlite3'],
  Tomcat: ['tomcat10', 'openjdk-17-jdk-headless'],
  'Tomcat’s manager': ['tomcat10-admin'],
  VictoriaMetrics: ['victoria-metrics'],
  Wine: ['wine64'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Program = keyof typeof PACKAGES;

/** Tells tests the file in which they note what is missing, a line for each. */
const FILE_VARIABLE = 'D2S_MISSING_PROGRAMS';

/** Returns `isThere`, and notes for the end of the run if it is false. Throws if D2S_REQUIRE_PROGRAMS=1 demands it. */
export function isAvailable(program: Program, isThere: boolean): boolean {
  if (isThere) return true;
  if (process.env.D2S_REQUIRE_PROGRAMS === '1') {
    throw new Error(`D2S_REQUIRE_PROGRAMS=1, and this machine has not: ${program}. ${toCommand([program])}`);
  }
  const file = process.env[FILE_VARIABLE];
  if (file !== undefined) appendFileSync(file, `${program}\n`);
  return false;
}

/** Whether `--version` starts it. */
export function hasProgram(program: string): boolean {
  return spawnSync(program, ['--version']).error === undefined;
}

/** Vitest's global setup of the project `programs`. */
export function setup(): () => void {
  const folder = mkdtempSync(path.join(tmpdir(), 'd2s-missing-'));
  const file = path.join(folder, 'programs');
  process.env[FILE_VARIABLE] = file;
  return () => {
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    const missing = [...new Set(lines)].sort() as Program[];
    if (missing.length > 0) {
      console.log(`Skipped, since this machine has not: ${missing.join('; ')}. ${toCommand(missing)}`);
    }
    rmSync(folder, { recursive: true, force: true });
  };
}

function toCommand(missing: readonly Program[]): string {
  const packages = [...new Set(missing.flatMap((program) => PACKAGES[program]))].sort();
  return packages.length === 0 ? '' : `Install: apt-get install --no-install-recommends ${packages.join(' ')}`;
}
