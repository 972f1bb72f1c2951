/**
 * The published schemas: those of Kubernetes (its OpenAPI document), of the Prometheus operator and the Gateway API (their CRDs), as
 * `kubernetes-models` has them. Its validators let unknown keys pass, its interfaces do not: so each manifest is written as an object
 * literal of its interface, and the compiler checks it.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ROOT } from '../install/run.ts';
import type { Manifest } from './manifests.ts';

/** Of groups that are not Kubernetes' own. */
const PACKAGES: Readonly<Record<string, string>> = {
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
};

/** The compiler's complaints, e.g. `x: Deployment y: TS2353: ... 'replica' does not exist ...`. Throws if it complains about anything else. */
export function typeCheck(manifests: readonly Manifest[]): readonly string[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'd2s-manifests-'));
  try {
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
    writeFileSync(path.join(folder, 'manifests.ts'), toSource(manifests));
    writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
    const tsc = path.join(ROOT, 'node_modules/.bin/tsc');
    const options = { cwd: folder, encoding: 'utf8', maxBuffer: 100_000_000 } as const;
    const { status, stdout, error } = spawnSync(tsc, ['-p', '.', '--pretty', 'false'], options);
    if (error !== undefined) throw error;
    const told = stdout.split('\n').filter((line) => /^\S/.test(line));
    if (status !== 0 && told.length === 0) throw new Error(`tsc ended with ${status} and said nothing`);
    return told.map((line) => toComplaint(line, manifests));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const TSCONFIG = {
  compilerOptions: {
    ...{ target: 'es2023', lib: ['es2023'], module: 'esnext', moduleResolution: 'bundler', types: [] },
    ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true, noEmit: true },
  },
  files: ['manifests.ts'],
};

/** One manifest a line, so that a line of the compiler's identifies it, and then the types. */
function toSource(manifests: readonly Manifest[]): string {
  const kinds = new Map(manifests.map((one) => [toTypeName(one), one]));
  return [
    ...manifests.map((one, index) => `export const m${index}: ${toTypeName(one)} = ${JSON.stringify(one.content)};`),
    ...[...kinds].map(([name, one]) => `import type { I${one.kind} as ${name} } from '${toModule(one)}';`),
  ].join('\n');
}

function toComplaint(line: string, manifests: readonly Manifest[]): string {
  const [, row, message] = /^manifests\.ts\((\d+),\d+\): error (.*)$/.exec(line) ?? [];
  const manifest = manifests[Number(row) - 1];
  if (manifest === undefined) throw new Error(`tsc: ${line}`);
  return `${manifest.source}: ${message}`;
}

function toTypeName({ apiVersion, kind }: Manifest): string {
  return `${kind}_${apiVersion.replace(/\W/g, '_')}`;
}

function toModule({ apiVersion }: Manifest): string {
  return `${PACKAGES[apiVersion.split('/')[0] ?? ''] ?? 'kubernetes-models'}/${apiVersion}`;
}
