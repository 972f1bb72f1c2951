/**
 * Puts a secret in every place where a client, a reader, an application server, a JVM or a configuration can have one, and searches
 * all output of the sidecar for them. Traffic that merely passes, from a client to the upstream and back, is not searched.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { OtlpReceiver } from '../support/export/otlp/otlp-receiver.ts';
import { basic, Folder, tokenLine, userLine } from '../support/monitor/access/access-files.ts';
import { BAD_CONFIGURATIONS, NUMBER } from './secrets/bad-configurations.ts';
import { attack, SHOWN } from './secrets/hostile-clients.ts';
import { startHostileUpstream } from './secrets/hostile-upstream.ts';
import { Markers } from './secrets/markers.ts';
import { type Program, runProgram, startProgram } from './secrets/programs.ts';
import { say } from './secrets/raw.ts';
import { askControl, askOddly, readAll, readFiles } from './secrets/readers.ts';

/** Number of answers of a hostile server of the JVM's condition. */
const JVM_ANSWERS = 5;

const markers = new Markers();
const folder = new Folder();
const upstream = await startHostileUpstream(markers);
const receiver = await OtlpReceiver.listen();
const programs: Program[] = [];

afterAll(async () => {
  for (const { child } of programs) child.kill('SIGKILL');
  await Promise.all(programs.map(({ exited }) => exited));
  upstream.close();
  await receiver.close();
  folder.remove();
});

function fileOf(name: string, place: string, prefix = ''): string {
  return folder.write(name, `${prefix}${markers.at(place)}\n`);
}

type Started = Awaited<ReturnType<typeof start>>;

async function start(name: string, yaml = '{}', env = {}, ...command: readonly string[]) {
  const url = `http://127.0.0.1:${upstream.port}/smartWeb`;
  const places = ['--upstream', url, '--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0'];
  const args = [...command, ...places, '--config', folder.write(`${name}.yaml`, yaml)];
  const TMPDIR = path.join(folder.path, `${name}-tmp`);
  mkdirSync(TMPDIR);
  const D2_SIDECAR_PASSWORD = markers.at(`environment of ${name}: a variable that is no key`);
  const common = { TMPDIR, D2_SIDECAR_LOG_LEVEL: 'debug', D2_SIDECAR_JVM_INTERVAL: '1s', D2_SIDECAR_PASSWORD };
  const program = startProgram(args, { ...common, ...env });
  programs.push(program);
  const [line] = await program.until(/^\{.*"msg":"listening".*$/m);
  return { program, ...(JSON.parse(line) as Record<'listen' | 'monitor' | 'control', string>) };
}

function jvmOf(kind: string, password: string): string {
  const url = `http://127.0.0.1:${upstream.port}/jvm-${kind}`;
  return `jvm: { source: http, http: { kind: ${kind}, url: "${url}", username: jvm-reader, ${password} } }\n`;
}

/** Metrics and a span of each call, to a receiver that requires a credential. */
function otlpOf(headersFile: string): string {
  const metrics = '{ interval: 1s }';
  const traces = '{ enabled: true, sampleRatio: 1 }';
  return `otlp: { endpoint: "${receiver.endpoint}", timeout: 900ms, headersFile: "${headersFile}", metrics: ${metrics}, traces: ${traces} }\n`;
}

function accessLogOf(name: string): string {
  return `accessLog: { file: "${path.join(folder.path, name)}-access.log", others: true }\n`;
}

async function readReports({ control }: Started): Promise<string[]> {
  const asked = ['report', '--control', control];
  return await Promise.all([[], ['--with-users']].map(async (more) => (await runProgram([...asked, ...more])).output));
}

function keysOf(apiKey: string): string {
  return `[{ user: key-user, key: ${apiKey} }]`;
}

async function finish({ program }: Started): Promise<string> {
  program.child.kill('SIGTERM');
  expect(await program.exited).toBe(0);
  return program.output();
}

/** Outputs that contain a secret, with its place. */
function leaksOf(outputs: Readonly<Record<string, readonly string[]>>): string[] {
  return Object.entries(outputs).flatMap(([name, texts]) =>
    markers.leaksIn(texts.join('\n')).map((leak) => `${name}: ${leak}`),
  );
}

async function untilJvmAnswered(kind: string): Promise<void> {
  await expect.poll(() => upstream.jvmAnswers(kind), { timeout: 30_000 }).toBeGreaterThanOrEqual(JVM_ANSWERS);
}

const NOBODY: Readonly<Record<'reader' | 'scraper', readonly string[]>> = { reader: [], scraper: [] };

/** All that a sidecar says of hostile traffic; it has ended then. Names of calls prove that it is about this traffic. */
async function gather(name: string, sidecar: Started, apiKey: string, kind: string, { reader, scraper } = NOBODY) {
  const { listen, monitor, control } = sidecar;
  const said = {
    refusals: await attack(markers, name, listen, apiKey, upstream.calls),
    monitoring: await readAll(monitor, reader),
    metrics: await readAll(monitor, scraper),
    refused: await askOddly(markers, name, monitor, reader),
    control: await askControl(markers, name, control),
  };
  await untilJvmAnswered(kind);
  const outputs = {
    ...said,
    again: await readAll(monitor, reader),
    reports: await readReports(sidecar),
    files: readFiles(path.join(folder.path, `${name}-tmp`)),
    logs: [await finish(sidecar)],
    accessLog: [readFileSync(path.join(folder.path, `${name}-access.log`), 'utf8')],
  };
  expect(leaksOf(outputs)).toEqual([]);
  expect(outputs.refusals.length).toBeGreaterThanOrEqual(20);
  for (const shown of [...Object.values(SHOWN), 'key-user']) {
    expect(outputs.monitoring.join('\n')).toContain(shown);
    expect(outputs.accessLog.join()).toContain(shown);
  }
  return outputs;
}

const LONG = { concurrent: true, timeout: 180_000 };

describe('no secret leaks', LONG, () => {
  it('from a sidecar that relays, with readers who log in', async ({ expect }) => {
    const password = markers.at('configuration: password of a reader');
    const apiKey = markers.at('configuration: key of a user');
    const user = await userLine('reader', 'sessions', password);
    const { line, token } = tokenLine('scraper', 'metrics');
    markers.know('configuration: token of a reader', token);
    for (const part of user.split('$').slice(4)) markers.know('users file: salt or hash', part);
    markers.know('tokens file: hash', line.split('sha256$')[1] ?? '');
    const usersFile = folder.write('users', `${user}\n`);
    const tokensFile = folder.write('tokens', `${line}\n`);
    const jvmPassword = fileOf('jvm-password', 'configuration: content of jvm.http.passwordFile');
    const receiverPlace = 'configuration: content of otlp.headersFile';
    const yaml =
      `sessions: { apiKeys: ${keysOf(apiKey)} }\n` +
      `monitor: { auth: { usersFile: "${usersFile}", tokensFile: "${tokensFile}" } }\n` +
      jvmOf('tomcat-jmxproxy', `passwordFile: "${jvmPassword}"`) +
      accessLogOf('relay') +
      otlpOf(fileOf('otlp-headers', receiverPlace, 'x-receiver-token: '));
    const sidecar = await start('relay', yaml);
    const reader = [`Authorization: ${basic('reader', password)}`];
    const scraper = [`Authorization: Bearer ${token}`];
    const outputs = await gather('relay', sidecar, apiKey, 'tomcat-jmxproxy', { reader, scraper });
    const config = path.join(folder.path, 'relay.yaml');
    const check = await runProgram(['check', '--config', config, '--upstream', 'http://h/a']);
    // Strings are in it unescaped.
    const pushed = receiver.received.map(({ body }) => body.toString('latin1')).join('\n');
    expect(leaksOf({ check: [check.output], pushed: [pushed] })).toEqual([]);
    expect(outputs.monitoring.join()).toContain('COMET_WEBSOCKET');
    expect(check.output).toMatch(/key: "?\[hidden\]/);
    expect(outputs.metrics.join('')).toContain('403 Forbidden');
    const refused = new Set(outputs.refused.map((answer) => answer.slice(9, 12)));
    expect([...refused].sort()).toEqual(expect.arrayContaining(['400', '401', '404', '405', '413', '421', '431']));
    expect(outputs.control.join('')).toMatch(/"state":[\s\S]*"status":404/);
    expect(outputs.logs.join('')).toContain('the JVM cannot be read');
    const [report = '', reportWithUsers = ''] = outputs.reports;
    for (const name of [SHOWN.object, SHOWN.rpc, SHOWN.cometRpc, 'the JVM cannot be read', '[hidden]']) {
      expect(report).toContain(name);
    }
    for (const name of [SHOWN.user, 'key-user', 'jvm-reader']) {
      expect([report, reportWithUsers].map((text) => text.includes(name))).toEqual([false, true]);
    }
    // The credential of the receiver reaches it, but no user name does.
    expect(receiver.received.map(({ headers }) => headers['x-receiver-token'])).toContain(markers.at(receiverPlace));
    expect(receiver.spans.map(({ name }) => name)).toEqual(
      expect.arrayContaining([`rpc ${SHOWN.rpc}`, `rpc ${SHOWN.cometRpc}`]),
    );
    for (const name of [SHOWN.user, 'key-user', 'jvm-reader']) expect(pushed).not.toContain(name);
    for (const shown of ['"kind":"other"', '"kind":"comet"']) expect(outputs.accessLog.join()).toContain(shown);
  });

  it('from a sidecar that is configured by its environment', async () => {
    const apiKey = markers.at('environment: key of a user');
    const env = {
      D2_SIDECAR_SESSIONS_API_KEYS: keysOf(apiKey),
      JVM_PASSWORD: markers.at('environment: variable of jvm.http.passwordEnv'),
    };
    const yaml = jvmOf('jolokia', 'passwordEnv: JVM_PASSWORD') + accessLogOf('environment');
    const sidecar = await start('environment', yaml, env);
    await gather('environment', sidecar, apiKey, 'jolokia');
  });

  it('from learn', async ({ expect }) => {
    const password = `passwordFile: "${fileOf('learn-password', 'learn: content of jvm.http.passwordFile')}"`;
    const apiKey = markers.at('learn: key of a user');
    const yaml = `sessions: { apiKeys: ${keysOf(apiKey)} }\n${jvmOf('prometheus', password)}`;
    const sidecar = await start('learn', yaml, {}, 'learn');
    await attack(markers, 'learn', sidecar.listen, apiKey, upstream.calls);
    await untilJvmAnswered('prometheus');
    const monitoring = await readAll(sidecar.monitor, []);
    const report = await finish(sidecar);
    expect(leaksOf({ report: [report], monitoring })).toEqual([]);
    expect(report).toContain('/service/d2/rpc');
  });

  it.each(['tomcat-status', 'wildfly'])('from readings over HTTP: %s', async (kind) => {
    const file = fileOf(`${kind}-password`, `${kind}: content of jvm.http.passwordFile`);
    const sidecar = await start(kind, jvmOf(kind, `passwordFile: "${file}"`));
    await untilJvmAnswered(kind);
    const monitoring = await readAll(sidecar.monitor, []);
    expect(leaksOf({ monitoring, logs: [await finish(sidecar)] })).toEqual([]);
    expect(monitoring.join('')).toContain('503 Service Unavailable');
  });

  it('from refused configurations', async ({ expect }) => {
    const fill = markers.filling('configuration: ');
    markers.know('configuration: number in place of jvm.http.passwordFile', NUMBER);
    for (const [index, { yaml, env = {}, args = [], named }] of BAD_CONFIGURATIONS.entries()) {
      const file = yaml === undefined ? [] : ['--config', folder.write(`bad-${index}.yaml`, fill(yaml))];
      const filled = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)]));
      for (const command of index === 0 ? [['check'], []] : [['check']]) {
        const { code, output } = await runProgram([...command, ...file, ...args.map(fill)], filled);
        expect(leaksOf({ [`${named}, ${command[0] ?? 'start'}`]: [output] })).toEqual([]);
        expect(output).toContain(named);
        expect(code).toBe(64);
      }
    }
  });

  it('from unusable files of users, tokens and certificates', async ({ expect }) => {
    const fill = markers.filling('unusable file: ');
    const files = {
      usersFile: `reader:sessions:«password in place of its hash»
«malformed line»
a:metrics:scrypt$16384$8$1$«salt»$«hash»
`,
      tokensFile: '«token in place of its line»\nscraper:«token in place of a role»:x\n',
    };
    const check = async (name: string, yaml: string) => {
      const file = folder.write(name, `upstream: { url: "http://127.0.0.1:1" }\n${yaml}`);
      const { code, output } = await runProgram(['check', '--config', file]);
      expect(code).toBe(64);
      return output;
    };
    for (const [key, text] of Object.entries(files)) {
      const yaml = `monitor: { auth: { ${key}: "${folder.write(`bad-${key}`, fill(text))}" } }`;
      const output = await check(`${key}.yaml`, yaml);
      const started = await start(`bad-${key}`, yaml);
      const answer = await fetch(`http://${started.monitor}/metrics`);
      const said = await answer.text();
      const log = await finish(started);
      expect(leaksOf({ [key]: [output, said, log] })).toEqual([]);
      expect(answer.status).toBe(503);
      for (const one of [output, log]) expect(one).toContain(`bad-${key}:1`);
    }
    const [certFile, keyFile] = ['CERTIFICATE', 'PRIVATE KEY'].map((kind) => {
      const text = fill(`base64(«content of a ${kind}»)`);
      return folder.write(kind, `-----BEGIN ${kind}-----\n${text}\n-----END ${kind}-----\n`);
    });
    const output = await check('tls.yaml', `listen: { tls: { certFile: "${certFile}", keyFile: "${keyFile}" } }`);
    expect(leaksOf({ tls: [output] })).toEqual([]);
    expect(output).toContain('listen.tls');
  });

  it('from passwd', async ({ expect }) => {
    const password = markers.at('standard input of passwd: the password');
    const file = path.join(folder.path, 'passwd');
    const outputs = [
      await runProgram(['passwd', 'reader', '--file', file], {}, `${password}\n`),
      await runProgram(['passwd', 'reader'], {}, `${password}\n`),
      await runProgram(['passwd', 'reader', markers.at('arguments of passwd: the password')]),
    ];
    expect(leaksOf({ passwd: outputs.map(({ output }) => output), files: [readFileSync(file, 'utf8')] })).toEqual([]);
    expect(outputs.map(({ code }) => code)).toEqual([0, 0, 64]);
  });
});

describe('no secret leaks when a program ends with an unexpected error', LONG, () => {
  /** A bug in the handler of a client's first bytes, which are `chunk`. */
  const MISTAKES: Readonly<Record<string, string>> = {
    'a thrown error': `const cause = new Error('cause ' + chunk);
      throw Object.assign(new TypeError('cannot take ' + chunk + '\\n    at ' + chunk.slice(-24) + ' (file:///a.js:1:1)', { cause }),
        { rawPacket: Buffer.from(chunk), input: chunk, code: 'ERR_OF_A_LIBRARY' })`,
    'a warning before': `process.emitWarning('careful with ' + chunk, { code: 'DEP_OF_A_LIBRARY', detail: chunk });
      setImmediate(() => new URL(chunk))`,
  };

  function preload(name: string, text: string): Readonly<Record<string, string>> {
    const file = folder.write(`${name.replaceAll(/\W/g, '-')}.mjs`, text);
    return { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${pathToFileURL(file)}` };
  }

  it.each(Object.entries(MISTAKES))('%s', async (name, statement) => {
    const env = preload(
      name,
      `const { toString, latin1Slice } = Buffer.prototype;
      const plantedIn = (read) => function planted() {
        const chunk = Reflect.apply(read, this, arguments);
        if (!chunk.includes('what it was given')) return chunk;
        Object.assign(Buffer.prototype, { toString, latin1Slice });
        ${statement};
        return chunk;
      };
      Object.assign(Buffer.prototype, { toString: plantedIn(toString), latin1Slice: plantedIn(latin1Slice) });`,
    );
    const { program, listen } = await start(name.replaceAll(/\W/g, '-'), 'jvm: { source: none }', env);
    await say(listen, `${markers.at(`crash: ${name}`)} is what it was given\n\n`);
    expect(await program.exited).toBe(1);
    expect(leaksOf({ crash: [program.output()] })).toEqual([]);
    expect(program.output()).toContain('d2-sidecar: ended by an unexpected error: ');
    // The stack says where it was.
    expect(program.output()).toMatch(/^ {4}at (?:\S+ )*\(?(?:file|node):\S+:\d+:\d+\)?$/m);
    if (name.includes('warning')) expect(program.output()).toContain('warning: Warning DEP_OF_A_LIBRARY');
  });

  it('an error of a command', async () => {
    const secret = markers.at('crash: a command');
    const env = preload('command', `process.stdout.write = () => { throw new Error('${secret}'); };`);
    const { code, output } = await runProgram(['--help'], env);
    expect(leaksOf({ crash: [output] })).toEqual([]);
    expect(output).toContain('ended by an unexpected error: Error\n    at ');
    expect(code).toBe(1);
  });
});

it('secrets were placed in more than 250 places, and those meant for the application server have reached it', () => {
  expect(markers.places.length).toBeGreaterThan(250);
  const reached = new Set(markers.leaksIn(upstream.received()).map((leak) => leak.replace(/ \([^(]*\)$/, '')));
  for (const name of ['relay', 'environment', 'learn']) {
    const sent = markers.places.filter((place) => place.startsWith(`client of ${name}: `));
    expect(sent.filter((place) => reached.has(place)).length).toBeGreaterThan(60);
  }
});
