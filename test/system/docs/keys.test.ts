/**
 * Every name in the documents exists: configuration keys, variables, flags, series, alerts, error codes.
 *
 * Names in backticks with a dot in them must belong to one of `VOCABULARIES`; add new kinds of names there, with their
 * source.
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ERROR_CODES } from '../../../src/base/errors.ts';
import { parseCommandLine } from '../../../src/cli/command-line.ts';
import { HELP } from '../../../src/cli/help.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import { knownNamesAt, listKeys } from '../../../src/config/schema-walk.ts';
import { METRICS } from '../../../src/sidecar/metrics.ts';
import { faultOfConfiguration } from '../../support/docs/configuration.ts';
import { type Document, listDocuments, type Piece, parseDocument, ROOT } from '../../support/docs/documents.ts';
import { readAlerts, readRules } from '../../support/prometheus/rules-file.ts';

const documents = listDocuments();
const sections = new Set(knownNamesAt([]));
const keys = new Set(listKeys().flatMap(({ path: steps }) => steps.map((_, i) => steps.slice(0, i + 1).join('.'))));
/** Last parts of keys, those within lists included: `certFile`, `userField`. */
const parts = new Set(
  [...readFileSync(path.join(ROOT, 'config/schema.json'), 'utf8').matchAll(/"([A-Za-z]+)": \{/g)].map(
    ([, name]) => name,
  ),
);

/** All that is in these folders, without the tests of documents, which contain made-up names. */
function textOf(...folders: readonly string[]): string {
  const files = folders.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => path.join(folder, file)),
  );
  return files
    .filter((file) => /\.(?:tsx?|mjs|service|yaml|sh|tpl)$/.test(file) && path.basename(path.dirname(file)) !== 'docs')
    .map((file) => readFileSync(path.join(ROOT, file), 'utf8'))
    .join('\n');
}

const source = textOf('src');
const tests = textOf('scripts', 'config', 'test');
/** Field names in the schemas of Kubernetes: `subPath`. */
const kubernetes = readKubernetesFields();

function readKubernetesFields(): ReadonlySet<string> {
  const folder = path.join(ROOT, 'node_modules/kubernetes-models/_schemas');
  const texts = readdirSync(folder)
    .filter((name) => /^IoK8s(?:ApiCoreV1|ApiAppsV1|ApiNetworkingV1|ApimachineryPkgApisMetaV1)\w+\.mjs$/.test(name))
    .map((name) => readFileSync(path.join(folder, name), 'utf8'));
  return new Set(texts.flatMap((text) => [...text.matchAll(/\bdata\d*\.([A-Za-z]+)/g)].map(([, name = '']) => name)));
}

/** Values of the chart: `image.repository`. */
const chartValues = new Set(
  toPaths(parse(readFileSync(path.join(ROOT, 'config/kubernetes/chart/values.yaml'), 'utf8'))),
);

function toPaths(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...toPaths(inner).map((more) => `${name}.${more}`)]);
}

const isWordOf = (text: string, word: string) => new RegExp(`(?<![\\w$])${word}(?![\\w$])`).test(text);

/** Dotted names that are not configuration keys: their prefix, and their owner. */
const VOCABULARIES: readonly (readonly [RegExp, string])[] = [
  [/^(?:rpc|sba|object|sessions|session)\.[\w<>*.-]+$/, 'statistics of docs/statistics.md'],
  [/^(?:jvm\.)?(?:memory|classloader|garbagecollector)\./, 'gauges of docs/jvm.md'],
  [/^[\w$]+\.[\w$.']+\[/, 'a JSONPath'],
  [
    /^(?:d2|service|url|http|server|client|network|user_agent|error)\./,
    'attributes of OpenTelemetry, in src/export/otlp',
  ],
  [/^(?:timers|counters|gauges|meters)[./]/, 'paths in an answer, in docs/consumers.md'],
  [/^data\.|^host\.name$|^inputs\.http$|^timers-/, 'fields of messages, OpenTelemetry, Telegraf and collectd'],
  [/^[\w.-]+\.(?:example|invalid)$/, 'reserved hosts (RFC 2606)'],
  [/^(?:net|http|fs|process|v8)\.\w+$/, 'Node.js'],
  [/^ipaddr\.js$/, 'a package'],
  [
    /^[\w.-]+\.(?:json|dpkg-dist|yaml|yml|txt|log|conf|crt|key|sock|service|sh|tgz|deb|md|ts|tsx|mjs|pem)$/,
    'files; links.test.ts has those of the project',
  ],
  [
    /^(?:access\.log|file)\.\d$|^resolv\.conf$|^E\.\w+\.\w+$|^\.[\w/.-]+$|^\d/,
    'files, procedures and numbers of examples',
  ],
];
/** Attributes of OpenTelemetry, commands of the JVM and templates of the chart: the source must contain the name. */
const IN_SOURCE = /^(?:d2|service|url)\.[a-z_.]+$|^(?:GC|VM|Compiler)\.\w+$|^d2-sidecar\.[a-z]\w+$/;

/** Words in camel case that are neither keys nor in the source: a field of the sessions, and an attribute of Tomcat. */
const FOREIGN_WORDS: ReadonlySet<string> = new Set(['createTime', 'keepAliveTimeout']);

/** Programs of the project with flags of their own, and the file that reads them. */
const OTHER_FLAGS = ['test/bench/load/options.ts', 'test/chaos/options.ts', 'test/chaos/soak/options.ts', 'Dockerfile'];

/** All `d2_…` names: families, their parts, and recording rules. */
const series: ReadonlySet<string> = new Set([
  ...Object.values(METRICS).flatMap((list) =>
    list.flatMap(({ name }) => ['', '_bucket', '_sum', '_count'].map((end) => name + end)),
  ),
  ...readRules().flatMap(({ record = '' }) => record.split(':')),
]);
const alerts = new Set(readAlerts().map(({ alert }) => alert));

const pieces = ({ codes, fences }: Document): readonly Piece[] => [...codes, ...fences];

async function faultsOfKeys({ codes }: Document): Promise<string[]> {
  const faults: string[] = [];
  for (const { place, text } of codes) {
    const [, name = '', value] = /^([A-Za-z][\w-]*(?:\.[\w*<>{},'[\]-]+)*)(?:: (.+))?$/.exec(text) ?? [];
    const known = keys.has(name) || isOfList(name);
    if (chartValues.has(name)) continue;
    if (value !== undefined && known && name.includes('.') && !/\.\.\.|[A-Z]{3}/.test(value)) {
      const fault = await faultOfConfiguration(toYaml(name, value));
      if (fault !== undefined) faults.push(`${place}: ${text}: ${fault}`);
    } else if (name.includes('.')) {
      const isKey = sections.has(name.split('.')[0] ?? '');
      const isForeign = VOCABULARIES.some(([pattern]) => pattern.test(name));
      if (!known && !(IN_SOURCE.test(name) ? source.includes(name) || tests.includes(name) : isForeign))
        faults.push(`${place}: ${text}: ${isKey ? 'no such key' : 'no vocabulary has it'}`);
    } else if (/^[a-z]+(?:[A-Z][a-z]+)+$/.test(name)) {
      const isKnown = [parts, kubernetes, FOREIGN_WORDS].some((words) => words.has(name));
      if (!isKnown && ![source, tests].some((all) => isWordOf(all, name)))
        faults.push(`${place}: ${text}: neither a key nor a name in the source`);
    }
  }
  return faults;
}

/** `monitor.auth.certificates.name`, which is in a list. */
function isOfList(name: string): boolean {
  const steps = name.split('.');
  return steps.length > 1 && knownNamesAt([...steps.slice(0, -1), 0]).includes(steps.at(-1) ?? '');
}

/** `a.b`, `1` to a document. */
function toYaml(name: string, value: string): string {
  const lines = name.split('.').map((step, depth) => `${'  '.repeat(depth)}${step}:`);
  return `${lines.join('\n')} ${value}`;
}

async function faultsOfVariables(document: Document): Promise<string[]> {
  const faults: string[] = [];
  for (const { place, text } of pieces(document)) {
    for (const [name] of text.matchAll(/\bD2_SIDECAR_[A-Z0-9_]*[A-Z0-9]\b(?!_)/g)) {
      const { warnings } = await readEnvironment({ [name]: 'tcp://10.0.0.1:1' });
      if (warnings.some((warning) => warning.includes('there is no such key')))
        faults.push(`${place}: ${name}: no such key`);
    }
    for (const [name] of text.matchAll(/\bD2S_(?!ERR_)[A-Z_]+\b/g))
      if (!isWordOf(tests, name)) faults.push(`${place}: ${name}: no test reads it`);
    for (const [code] of text.matchAll(/\bD2S_ERR_[A-Z_]+\b/g))
      if (!Object.keys(ERROR_CODES).some((one) => (code.endsWith('_') ? one.startsWith(code) : one === code)))
        faults.push(`${place}: ${code}: no such error code`);
  }
  return faults;
}

/** `d2_calls_total`, and `d2_comet_…` or `d2_sidecar_` for all with this prefix. */
function faultsOfSeries(document: Document): string[] {
  return pieces(document).flatMap(({ place, text }) => {
    const named = [...text.matchAll(/(?<![\w/.-])(?:d2|jvm|process|nodejs)_\w*(?:…|\.\.\.|<[a-z]+>)?/g)].map(
      ([name]) => name,
    );
    const faults = named.filter((name) => {
      const [, begin] = /^(\w+?_)(?:…|\.\.\.|<[a-z]+>)?$/.exec(name) ?? [];
      return begin === undefined
        ? !series.has(name) && !isPart(name)
        : ![...series].some((one) => one.startsWith(begin));
    });
    const unknown = [...text.matchAll(/\bD2(?!S_|_)[A-Z][A-Za-z]+\b/g)]
      .map(([name]) => name)
      .filter((name) => !alerts.has(name));
    return [
      ...faults.map((name) => `${place}: ${name}: no such series`),
      ...unknown.map((name) => `${place}: ${name}: no such alert`),
    ];
  });
}

/** `d2_call` and `d2_comet`, groups of series. */
function isPart(name: string): boolean {
  return [...series].some((one) => one.startsWith(`${name}_`));
}

/** Commands of `d2-sidecar` in the text: `d2-sidecar health [--ready]`. Words in capitals are placeholders. */
function faultsOfCommands(document: Document): string[] {
  const lines = pieces(document).flatMap(({ place, text }) =>
    text.split('\n').map((line) => ({ place, line: line.trim() })),
  );
  return lines.flatMap(({ place, line }) => {
    const [, rest] = /^(?:npx d2-sidecar|d2-sidecar|node dist\/main\.js)((?: (?![<>|#]| ).*)?)$/.exec(line) ?? [];
    if (rest === undefined) return [];
    const words = (rest.split(/ [<>|#]| {2}/)[0] ?? '')
      .replace(/[[\]\\]/g, '')
      .split(' ')
      .filter((word) => word !== '');
    // Without a name only the command can be checked.
    if (words.join(' ') === 'passwd') return [];
    try {
      parseCommandLine(
        words.map((word) => ({ N: '1', TIME: '1s', ROLE: 'metrics', NAME: 'ann', ADDRESS: ':1' })[word] ?? word),
      );
      return [];
    } catch (error) {
      const { message } = error as Error;
      // A flag that is only mentioned, at the end of the text: `d2-sidecar report --out`.
      return message === `${words.at(-1)}: missing value` ? [] : [`${place}: ${line}: ${message}`];
    }
  });
}

function faultsOfFlags({ codes }: Document): string[] {
  const others = OTHER_FLAGS.map((file) => readFileSync(path.join(ROOT, file), 'utf8')).join('\n');
  return codes.flatMap(({ place, text }) => {
    const [, flag] = /^--([a-z-]+)(?:[ =].*)?$/.exec(text) ?? [];
    if (flag === undefined) return [];
    const isKnown =
      HELP.includes(`--${flag}`) || new RegExp(`--${flag}(?![\\w-])`).test(others) || flag === 'build-arg';
    return isKnown ? [] : [`${place}: --${flag}: no such flag`];
  });
}

type Check = (document: Document) => string[] | Promise<string[]>;

describe('the documents', () => {
  it.each<[string, Check]>([
    ['configuration keys, and other names with a dot or in camel case', faultsOfKeys],
    ['variables and error codes', faultsOfVariables],
    ['series, recording rules and alerts', faultsOfSeries],
    ['commands of d2-sidecar, with their flags', faultsOfCommands],
    ['flags', faultsOfFlags],
  ])('use existing names only: %s', async (_, faultsOf) => {
    expect((await Promise.all(documents.map(faultsOf))).flat()).toEqual([]);
  });

  it('hold so many names that the search must work', () => {
    const all = documents.flatMap(pieces).map(({ text }) => text);
    expect(all.filter((text) => keys.has(text)).length).toBeGreaterThan(150);
    expect(all.filter((text) => series.has(text)).length).toBeGreaterThan(80);
  });
});

describe('these tests', () => {
  it.each<[string, string, Check]>([
    ['`stop.deadlin`', 'no such key', faultsOfKeys],
    ['`stop.deadline: soon`', 'stop.deadline', faultsOfKeys],
    ['`strop.deadline`', 'no vocabulary has it', faultsOfKeys],
    ['`certFyle`', 'neither a key', faultsOfKeys],
    ['`D2_SIDECAR_LISTEN_PROT`', 'no such key', faultsOfVariables],
    ['`D2S_ERR_UPSTREAM_ABSENT`', 'no such error code', faultsOfVariables],
    ['`D2S_REQUIRE_ABSENT=1`', 'no test reads it', faultsOfVariables],
    ['`d2_calls_totals`', 'no such series', faultsOfSeries],
    ['```\nrate(d2_sidecar_absent_total[5m])\n```', 'no such series', faultsOfSeries],
    ['`d2_absent_…`', 'no such series', faultsOfSeries],
    ['`D2SidecarAbsent`', 'no such alert', faultsOfSeries],
    ['`d2-sidecar chek`', 'did you mean check?', faultsOfCommands],
    ['```sh\nnode dist/main.js check --wait 5s\n```', '--wait: not a flag of check', faultsOfCommands],
    ['`d2-sidecar health [--redy]`', 'did you mean --ready?', faultsOfCommands],
    ['`--upstrem URL`', 'no such flag', faultsOfFlags],
  ])('report what is wrong with %j: %s', async (text, fault, faultsOf) => {
    expect(await faultsOf(parseDocument('docs/made-up.md', text))).toEqual([expect.stringContaining(fault)]);
  });
});
