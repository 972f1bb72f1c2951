/**
 * Blocks in the documents that are not commands: configuration of the sidecar and of programs around it. Each block of YAML is
 * the sidecar's configuration (whole or a part), or of a kind in `KINDS`, which defines its check. Add new kinds there.
 *
 * A block without a language is a picture or an output; commands are marked `sh` (commands.test.ts).
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { knownNamesAt } from '../../../src/config/schema-walk.ts';
import { faultOfConfiguration } from '../../support/docs/configuration.ts';
import { type Fence, listDocuments, parseDocument, ROOT } from '../../support/docs/documents.ts';
import { buildKustomization, type Json, toManifests } from '../../support/kubernetes/manifests.ts';
import { typeCheck, validate } from '../../support/kubernetes/schemas.ts';
import { isAvailable } from '../../support/programs.ts';
import { checkValues } from '../kubernetes/helm/helm.ts';

const LANGUAGES = ['', 'text', 'sh', 'yaml', 'json', 'ini', 'xml', 'nginx', 'apache', 'promql', 'ts', 'http'];
/** The compiler checks manifests, on a busy machine. */
const SLOW_MS = 120_000;
const sections = new Set(knownNamesAt([]));
const CHART = path.join(ROOT, 'config/kubernetes/chart');
const CHART_VALUES = parse(readFileSync(path.join(CHART, 'values.yaml'), 'utf8')) as Readonly<Record<string, Json>>;
const canAskPromtool = isAvailable('Prometheus', existsSync('/usr/bin/promtool'));
const canAskSystemd = isAvailable('dpkg and systemd, as root', existsSync('/usr/bin/systemd-analyze'));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'd2s-blocks-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Check = (
  written: Readonly<Record<string, Json>>,
  text: string,
) => Promise<string | undefined> | string | undefined;

/** Kinds of YAML: how to recognise one, and how to check it. The first match counts. */
const KINDS: readonly {
  readonly is: (names: readonly string[], written: Record<string, Json>) => boolean;
  readonly check: Check;
}[] = [
  { is: (names) => names.every((name) => sections.has(name)), check: (_, text) => faultOfConfiguration(text) },
  { is: (names) => names.includes('scrape_configs'), check: (_, text) => askPromtool('config', withoutFiles(text)) },
  { is: (names) => names.includes('groups'), check: (_, text) => askPromtool('rules', text) },
  {
    is: (names, { kind }) => kind === 'Kustomization' || names.join() === 'configMapGenerator',
    check: (written) => faultOfKustomization(written),
  },
  {
    is: (names) => names.every((name) => Object.hasOwn(CHART_VALUES, name)),
    check: (written) => faultOfChartValues(written),
  },
  // Grafana publishes no schema of it.
  { is: (names) => names.join() === 'apiVersion,providers', check: () => undefined },
  {
    is: (names, { kind }) => names.includes('apiVersion') && kind !== 'Kustomization',
    check: (written) => faultOfManifest(written),
  },
  // The part of a manifest that holds a Pod.
  {
    is: (names) => names.join() === 'spec',
    check: ({ spec = null }) => faultOfManifest({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'part' }, spec }),
  },
];

async function faultsOf({ place, language, text }: Fence): Promise<readonly string[]> {
  const told = (fault: string | undefined) => (fault === undefined ? [] : [`${place}: ${fault}`]);
  if (!LANGUAGES.includes(language)) return told(`${language}: a language that no test knows`);
  if (language === '') return told(faultOfPicture(text));
  if (language === 'json') return told(faultOfJson(text));
  if (language === 'ini') return told(canAskSystemd ? faultOfUnit(text) : undefined);
  if (language !== 'yaml') return [];
  const faults = await Promise.all(parseAllDocuments(text).map(faultOfYaml));
  return faults.flatMap(told);
}

async function faultOfYaml(document: ReturnType<typeof parseAllDocuments>[number]): Promise<string | undefined> {
  const written = document.toJS() as unknown;
  if (document.errors[0] !== undefined) return document.errors[0].message;
  if (typeof written !== 'object' || written === null || Array.isArray(written)) return 'no keys';
  const content = written as Record<string, Json>;
  const kind = KINDS.find(({ is }) => is(Object.keys(content), content));
  return kind === undefined
    ? `${Object.keys(content).join(', ')}: of no kind in KINDS`
    : await kind.check(content, String(document));
}

function faultOfManifest(content: Readonly<Record<string, Json>>): string | undefined {
  const manifests = toManifests(JSON.stringify(content), 'example');
  return (
    [...validate(manifests), ...typeCheck(manifests).map(({ where, message }) => `${where}: ${message}`)].join('; ') ||
    undefined
  );
}

/** By the schema of the chart, and the part below `config` by the sidecar. test/programs/kubernetes renders them. */
async function faultOfChartValues(written: Readonly<Record<string, Json>>): Promise<string | undefined> {
  const upstream = { url: 'http://127.0.0.1:8080/smartWeb' };
  try {
    checkValues(CHART, { ...CHART_VALUES, upstream, ...written });
  } catch (error) {
    return (error as Error).message;
  }
  return written.config === undefined ? undefined : await faultOfConfiguration(stringify(written.config));
}

/** Built by kustomize, as if it were in a folder beside config/kubernetes/examples. */
function faultOfKustomization(written: Readonly<Record<string, Json>>): string | undefined {
  const place = mkdtempSync(path.join(folder, 'kustomization-'));
  const whole = {
    ...{ apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' },
    ...{ resources: ['../server'], components: ['../../sidecar'], ...written },
  };
  const text = JSON.stringify(whole).replace(/"(\.\.\/[^"]*)"/g, (_, target: string) =>
    JSON.stringify(path.relative(realpathSync(place), path.join(ROOT, 'config/kubernetes/examples/yours', target))),
  );
  writeFileSync(path.join(place, 'kustomization.yaml'), text);
  writeFileSync(path.join(place, 'sidecar.yaml'), 'upstream: { url: http://127.0.0.1:8080/smartWeb }\n');
  try {
    buildKustomization(place);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Other people's files are not on this machine. */
function withoutFiles(text: string): string {
  return text.replace(/^( *)(?:(?:credentials|password|cert|key|ca)_file|rule_files): .*$/gm, '$1# left out');
}

function askPromtool(what: 'config' | 'rules', text: string): string | undefined {
  if (!canAskPromtool) return undefined;
  const file = path.join(folder, 'prometheus.yml');
  writeFileSync(file, text);
  const { status, stdout, stderr } = spawnSync('promtool', ['check', what, file], { encoding: 'utf8' });
  return status === 0 ? undefined : `promtool: ${stdout}${stderr}`;
}

/** A drop-in for the unit, checked by systemd, which warns of unknown keys and sections. */
function faultOfUnit(text: string): string | undefined {
  if (!/^\[(?:Unit|Service|Install|Socket)\]$/m.test(text)) return 'an ini block that is no unit';
  const unit = path.join(folder, 'example.service');
  mkdirSync(`${unit}.d`, { recursive: true });
  writeFileSync(unit, '[Service]\nExecStart=/bin/true\n');
  writeFileSync(path.join(`${unit}.d`, 'override.conf'), text);
  const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });
  return stderr.split('\n').find((line) => line.includes('override.conf'));
}

function faultOfJson(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `not JSON: ${(error as Error).message}`;
  }
}

/** A command here would not be run. */
function faultOfPicture(text: string): string | undefined {
  const command = text
    .split('\n')
    .find((line) => /^ *(?:\$ |d2-sidecar |node |npm |npx |curl |docker |kubectl |sudo |helm |promtool )/.test(line));
  return command === undefined ? undefined : `${command}: a command; such a block is marked sh`;
}

describe('the blocks in the documents', () => {
  const fences = listDocuments().flatMap((document) => document.fences);

  it('are accepted by the programs that they are meant for', { timeout: SLOW_MS }, async () => {
    const faults: string[] = [];
    for (const fence of fences) faults.push(...(await faultsOf(fence)));
    expect(faults).toEqual([]);
    expect(fences.filter(({ language }) => language === 'yaml').length).toBeGreaterThan(12);
  });
});

describe('these tests', () => {
  const find = async (text: string) =>
    (await Promise.all(parseDocument('docs/made-up.md', text).fences.map(faultsOf))).flat();

  it.each([
    ['```yaml\nlisten:\n  prot: 8081\n```', 'listen.prot: unknown key'],
    ['```yaml\nlimit:\n  inFlight: 8081\n```', 'limit: of no kind'],
    ['```yaml\nlisten: [\n```', 'Flow sequence'],
    ['```yaml\nspec:\n  initContainer: []\n  containers: []\n```', 'spec.initContainer: TS2353'],
    ['```yaml\napiVersion: apps/v1\nkind: Deployment\nmetadata: { name: x }\nspec: { replicas: two }\n```', 'replicas'],
    ['```yaml\nmonitoring: { enable: true }\n```', '"additionalProperty":"enable"'],
    ['```yaml\nextraVolumes: []\nconfig: { listen: { prot: 1 } }\n```', 'listen.prot: unknown key'],
    ['```yaml\nconfigMapGenerator:\n  - name: d2-sidecar\n    behaviour: replace\n```', 'behaviour'],
    ['```json\n{"a": }\n```', 'not JSON'],
    ['```\nd2-sidecar report\n```', 'such a block is marked sh'],
    ['```bash\nls\n```', 'a language that no test knows'],
  ])('report what is wrong with %j', { timeout: SLOW_MS }, async (text, fault) => {
    expect((await find(text)).join('\n')).toContain(fault);
  });

  it.runIf(canAskSystemd)('report a key that systemd does not know', async () => {
    expect((await find('```ini\n[Service]\nUsr=tomcat\n```')).join('\n')).toContain('Usr');
  });

  it.runIf(canAskPromtool)('report a key that Prometheus does not know', async () => {
    expect((await find('```yaml\nscrape_configs:\n  - job: x\n```')).join('\n')).toContain('field job not found');
  });
});
