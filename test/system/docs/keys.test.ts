/** Every name in the documents exists: configuration keys, variables, flags, series, alerts, error codes. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES } from '../../../src/base/errors.ts';
import { parseCommandLine } from '../../../src/cli/command-line.ts';
import { HELP } from '../../../src/cli/help.ts';
import { readEnvironment } from '../../../src/config/environment.ts';
import { knownNamesAt, listKeys } from '../../../src/config/schema-walk.ts';
import { METRICS } from '../../../src/sidecar/metrics.ts';
import { faultOfConfiguration } from '../../support/docs/configuration.ts';
import { type Document, listDocuments, type Piece, ROOT, readProject } from '../../support/docs/documents.ts';
import { messageOf } from '../../support/docs/shape.ts';
import { readAlerts, readRules } from '../../support/prometheus/rules-file.ts';

const documents = listDocuments();
const sections = new Set(knownNamesAt([]));
const keys = new Set(listKeys().flatMap(({ path: steps }) => steps.map((_, i) => steps.slice(0, i + 1).join('.'))));
/** Last parts of keys, those within lists included: `certFile`, `userField`. */
const parts = new Set(Array.from(readProject('config/schema.json').matchAll(/"([A-Za-z]+)": \{/g), ([, name]) => name));

/** All that is in these folders, without the tests of documents, which contain made-up names. */
const ours = ['src', 'scripts', 'config', 'test']
  .flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => path.join(folder, file)),
  )
  .filter((file) => /\.(?:tsx?|mjs|service|yaml|sh|tpl)$/.test(file) && path.basename(path.dirname(file)) !== 'docs')
  .map(readProject)
  .join('\n');
const isWordOf = (text: string, word: string) => new RegExp(`(?<![\\w$])${word}(?![\\w$])`).test(text);

/** Gauges and names of files that begin like a section of the configuration. */
const IN_ANSWERS = /^sessions\.|^jvm\.(?:memory|classloader|garbagecollector)\.|\.(?:json|ts)$/;
/** Words in camel case that are of others: fields of Kubernetes, of the sessions, and an attribute of Tomcat. */
const FOREIGN_WORDS: ReadonlySet<string> = new Set(['createTime', 'keepAliveTimeout', 'subPath']);

/** Programs of the project with flags of their own, and the file that reads them. */
const OTHER_FLAGS = ['test/bench/load/options.ts', 'test/chaos/options.ts', 'scripts/release.mjs', 'Dockerfile'];

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
    if (value !== undefined && known && name.includes('.') && !/\.\.\.|[A-Z]{3}/.test(value)) {
      const fault = await faultOfConfiguration(yamlOf(name, value));
      if (fault !== undefined) faults.push(`${place}: ${text}: ${fault}`);
    } else if (sections.has(name.split('.')[0] ?? '') && name.includes('.')) {
      if (!known && !IN_ANSWERS.test(name)) faults.push(`${place}: ${text}: no such key`);
    } else if (/^[a-z]+(?:[A-Z][a-z]+)+$/.test(name)) {
      if (![parts, FOREIGN_WORDS].some((words) => words.has(name)) && !isWordOf(ours, name))
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
function yamlOf(name: string, value: string): string {
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
      if (!isWordOf(ours, name)) faults.push(`${place}: ${name}: no test reads it`);
    for (const [code] of text.matchAll(/\bD2S_ERR_[A-Z_]+\b/g))
      if (!Object.keys(ERROR_CODES).some((one) => (code.endsWith('_') ? one.startsWith(code) : one === code)))
        faults.push(`${place}: ${code}: no such error code`);
  }
  return faults;
}

const hasBegin = (begin: string) => [...series].some((one) => one.startsWith(begin));

/** `d2_calls_total`; `d2_comet_…`, `d2_sidecar_` and `d2_call` for all with this prefix. */
function faultsOfSeries(document: Document): string[] {
  return pieces(document).flatMap(({ place, text }) => {
    const named = text.match(/(?<![\w/.-])(?:d2|jvm|process|nodejs)_\w*(?:…|\.\.\.|<[a-z]+>)?/g) ?? [];
    const faults = named.filter((name) => {
      const [, begin] = /^(\w+?_)(?:…|\.\.\.|<[a-z]+>)?$/.exec(name) ?? [];
      return !(begin === undefined ? series.has(name) || hasBegin(`${name}_`) : hasBegin(begin));
    });
    const unknown = (text.match(/\bD2(?!S_|_)[A-Z][A-Za-z]+\b/g) ?? []).filter((name) => !alerts.has(name));
    return [...faults, ...unknown].map((name) => `${place}: ${name}: no such series or alert`);
  });
}

/** Commands of `d2-sidecar` in the text: `d2-sidecar health [--ready]`. Words in capitals are placeholders. */
function faultsOfCommands(document: Document): string[] {
  const lines = pieces(document).flatMap(({ place, text }) => text.split('\n').map((line) => [place, line.trim()]));
  return lines.flatMap(([place, line = '']) => {
    const [, rest] = /^(?:npx d2-sidecar|d2-sidecar|node dist\/main\.js)((?: (?![<>|#]| ).*)?)$/.exec(line) ?? [];
    const words = rest?.split(/ [<>|#]| {2}/)[0]?.match(/[^ [\]\\]+/g) ?? [];
    const placeholders = { N: '1', TIME: '1s', ROLE: 'metrics', NAME: 'ann', ADDRESS: ':1' };
    const message = messageOf(() =>
      parseCommandLine(words.map((word) => placeholders[word as keyof typeof placeholders] ?? word)),
    );
    // Without a name only the command can be checked; or a flag is only mentioned, at the end of the text: `d2-sidecar report --out`.
    const isMentioned = words.join(' ') === 'passwd' || message === `${words.at(-1)}: missing value`;
    return rest === undefined || message === undefined || isMentioned ? [] : [`${place}: ${line}: ${message}`];
  });
}

function faultsOfFlags({ codes }: Document): string[] {
  const others = OTHER_FLAGS.map(readProject).join('\n');
  return codes.flatMap(({ place, text }) => {
    const [, flag] = /^--([a-z-]+)(?:[ =].*)?$/.exec(text) ?? [];
    if (flag === undefined) return [];
    const isOther = new RegExp(`--${flag}(?![\\w-])`).test(others) || flag === 'build-arg';
    return isOther || HELP.includes(`--${flag}`) ? [] : [`${place}: --${flag}: no such flag`];
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
