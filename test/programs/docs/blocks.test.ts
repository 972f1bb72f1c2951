/** Blocks in the documents that are not commands: configuration of the sidecar and of programs around it. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { parseCommandLine } from '../../../src/cli/command-line.ts';
import { knownNamesAt } from '../../../src/config/schema-walk.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { faultOfConfiguration } from '../../support/docs/configuration.ts';
import { type Fence, listDocuments, ROOT } from '../../support/docs/documents.ts';
import { messageOf } from '../../support/docs/shape.ts';
import { buildKustomization, type Json, toManifests } from '../../support/kubernetes/manifests.ts';
import { typeCheck } from '../../support/kubernetes/schemas.ts';
import { isAvailable } from '../../support/programs.ts';
import { promtool } from '../../support/prometheus/rules-file.ts';
import { checkValues } from '../kubernetes/helm/helm.ts';
import { hasPrometheus } from '../prometheus-server.ts';

// test/programs/history.test.ts runs those of sql.
const LANGUAGES = 'text sh bat yaml json ini xml nginx apache promql ts http sql'.split(' ').concat('');
/** The compiler checks manifests, on a busy machine. */
const SLOW_MS = 120_000;
const sections = new Set(knownNamesAt([]));
const CHART = path.join(ROOT, 'config/kubernetes/chart');
const CHART_VALUES = parse(readFileSync(path.join(CHART, 'values.yaml'), 'utf8')) as Readonly<Record<string, Json>>;
const canAskSystemd = isAvailable('dpkg, rpm and systemd, as root', existsSync('/usr/bin/systemd-analyze'));

const folder = temporaryFolder(deferTo(afterAll));

type Written = Readonly<Record<string, Json>>;
type Fault = string | undefined;

/** Kinds of YAML: how to recognise one, and how to check it. The first match counts. */
const KINDS: readonly (readonly [
  is: (names: readonly string[], written: Written) => boolean,
  check: (written: Written, text: string) => Promise<Fault> | Fault,
])[] = [
  [(names) => names.every((name) => sections.has(name)), (_, text) => faultOfConfiguration(text)],
  [(names) => names.includes('scrape_configs'), (_, text) => askPromtool('config', withoutFiles(text))],
  [(names) => names.includes('remote_write'), (_, text) => askPromtool('config', text)],
  // No Collector is at hand.
  [(names) => names.join() === 'receivers,exporters,service', () => undefined],
  [(names) => names.includes('groups'), (_, text) => askPromtool('rules', text)],
  [(names, { kind }) => kind === 'Kustomization' || names.join() === 'configMapGenerator', faultOfKustomization],
  [(names) => names.every((name) => Object.hasOwn(CHART_VALUES, name)), faultOfChartValues],
  // Grafana publishes no schema of it.
  [(names) => names.join() === 'apiVersion,providers', () => undefined],
  [(names) => names.includes('apiVersion'), faultOfManifest],
  // The part of a manifest that holds a Pod.
  [
    (names) => names.join() === 'spec',
    ({ spec = null }) => faultOfManifest({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'part' }, spec }),
  ],
];

/** Only a Windows can run the others. */
function faultOfWindowsCommand(line: string): Fault {
  const [program = '', ...words] = line.split(' ');
  if (program === 'd2-sidecar.exe') return messageOf(() => parseCommandLine(words));
  return ['cd', 'netsh', 'sc.exe'].includes(program) ? undefined : `${program}: no program of Windows`;
}

async function faultsOf({ place, language, text }: Fence): Promise<readonly string[]> {
  const told = (fault: string | undefined) => (fault === undefined ? [] : [`${place}: ${fault}`]);
  if (!LANGUAGES.includes(language)) return told(`${language}: a language that no test knows`);
  if (language === '') return told(faultOfPicture(text));
  if (language === 'json') return told(messageOf(() => JSON.parse(text)));
  if (language === 'bat')
    return text
      .trim()
      .split('\n')
      .flatMap((line) => told(faultOfWindowsCommand(line)));
  if (language === 'ini') return told(canAskSystemd ? faultOfUnit(text) : undefined);
  if (language !== 'yaml') return [];
  const faults = await Promise.all(parseAllDocuments(text).map(faultOfYaml));
  return faults.flatMap(told);
}

async function faultOfYaml(document: ReturnType<typeof parseAllDocuments>[number]): Promise<Fault> {
  const written = document.toJS() as unknown;
  if (document.errors[0] !== undefined) return document.errors[0].message;
  if (typeof written !== 'object' || written === null || Array.isArray(written)) return 'no keys';
  const content = written as Record<string, Json>;
  const names = Object.keys(content);
  const [, check] = KINDS.find(([is]) => is(names, content)) ?? [];
  return check === undefined ? `${names.join(', ')}: of no kind in KINDS` : await check(content, String(document));
}

function faultOfManifest(content: Written): Fault {
  return typeCheck(toManifests(JSON.stringify(content), 'example')).join('; ') || undefined;
}

/** Checked by the schema of the chart; the part below `config` by the sidecar. test/programs/kubernetes renders them. */
async function faultOfChartValues(written: Written): Promise<Fault> {
  const upstream = { url: 'http://127.0.0.1:8080/smartWeb' };
  const fault = messageOf(() => checkValues(CHART, { ...CHART_VALUES, upstream, ...written }));
  return fault ?? (written.config === undefined ? undefined : await faultOfConfiguration(stringify(written.config)));
}

/** Built by kustomize, as if it were in a folder beside config/kubernetes/examples. */
function faultOfKustomization(written: Written): Fault {
  const place = mkdtempSync(path.join(folder, 'kustomization-'));
  const head = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization' };
  const whole = { ...head, resources: ['../server'], components: ['../../sidecar'], ...written };
  const text = JSON.stringify(whole).replace(/"(\.\.\/[^"]*)"/g, (_, target: string) =>
    JSON.stringify(path.relative(realpathSync(place), path.join(ROOT, 'config/kubernetes/examples/yours', target))),
  );
  writeFileSync(path.join(place, 'kustomization.yaml'), text);
  writeFileSync(path.join(place, 'sidecar.yaml'), 'upstream: { url: http://127.0.0.1:8080/smartWeb }\n');
  return messageOf(() => buildKustomization(place));
}

/** Other people's files are not on this machine. */
function withoutFiles(text: string): string {
  return text.replace(/^( *)(?:(?:credentials|password|cert|key|ca)_file|rule_files): .*$/gm, '$1# left out');
}

function askPromtool(what: 'config' | 'rules', text: string): Fault {
  if (!hasPrometheus) return undefined;
  const file = path.join(folder, 'prometheus.yml');
  writeFileSync(file, text);
  const { status, output } = promtool('check', what, file);
  return status === 0 ? undefined : `promtool: ${output}`;
}

/** A drop-in for the unit, checked by systemd, which warns of unknown keys and sections. */
function faultOfUnit(text: string): Fault {
  if (!/^\[(?:Unit|Service|Install|Socket)\]$/m.test(text)) return 'an ini block that is no unit';
  const unit = path.join(folder, 'example.service');
  mkdirSync(`${unit}.d`, { recursive: true });
  writeFileSync(unit, '[Service]\nExecStart=/bin/true\n');
  writeFileSync(path.join(`${unit}.d`, 'override.conf'), text);
  const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });
  return stderr.split('\n').find((line) => line.includes('override.conf'));
}

/** A command here would not be run. */
function faultOfPicture(text: string): Fault {
  const command = text
    .split('\n')
    .find((line) => /^ *(?:\$ |d2-sidecar |node |npm |npx |curl |docker |kubectl |sudo |helm |promtool )/.test(line));
  return command === undefined ? undefined : `${command}: a command; such a block is marked sh`;
}

const fences = listDocuments().flatMap((document) => document.fences);

it('the blocks in the documents are accepted by the programs that they are meant for', {
  timeout: SLOW_MS,
}, async () => {
  const faults: string[] = [];
  for (const fence of fences) faults.push(...(await faultsOf(fence)));
  expect(faults).toEqual([]);
  expect(fences.filter(({ language }) => language === 'yaml').length).toBeGreaterThan(12);
});
