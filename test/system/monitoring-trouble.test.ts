/** No fault of the monitoring side keeps a real sidecar from passing calls: it starts, and says what is wrong. */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import type net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tokenLine } from '../support/monitor/access/access-files.ts';
import { listening } from '../support/net.ts';
import { MAIN_PATH, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';
import { CertificateFolder, type Pair } from '../support/tls/certificates.ts';

const WAIT = { timeout: 15_000, interval: 50 };
const READER = tokenLine('prometheus', 'metrics');
const METRICS = '/metrics';
const IS_ROOT = process.getuid?.() === 0;
/** Root may read everything, unless it drops that capability. */
const COMMAND = [...(IS_ROOT ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'] : []), process.execPath];
const OTHER_UID = 4_711;

const certificates = new CertificateFolder();
let own: Pair;
let other: Pair;
let folder: string;
let upstreamPort: number;
let sidecar: SidecarProcess | undefined;
const upstream = http.createServer((_request, response) => response.end('{"value":1}'));

beforeAll(async () => {
  const authority = certificates.authority();
  own = certificates.signed(authority, { name: 'plant' });
  other = certificates.signed(authority, { name: 'other' });
  upstreamPort = await listening(upstream as unknown as net.Server);
});
afterAll(() => {
  upstream.closeAllConnections();
  upstream.close();
  certificates.remove();
});
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'd2s-trouble-'));
});
afterEach(async () => {
  await sidecar?.stop('SIGKILL');
  sidecar = undefined;
  rmSync(folder, { recursive: true, force: true });
});

const at = (name: string) => path.join(folder, name);

function file(name: string, text: string, mode = 0o600): string {
  writeFileSync(at(name), text);
  chmodSync(at(name), mode);
  return at(name);
}

/** A file of another user, closed to all others. */
function shut(name: string): string {
  if (IS_ROOT) chownSync(at(name), OTHER_UID, OTHER_UID);
  else chmodSync(at(name), 0);
  return at(name);
}

function shutFile(name: string, text: string): string {
  file(name, text);
  return shut(name);
}

function shutFolder(name: string): string {
  mkdirSync(at(name), { mode: 0o700 });
  return shut(name);
}

async function start(yaml: string): Promise<SidecarProcess> {
  const config = file(
    'sidecar.yaml',
    `upstream: { url: 'http://127.0.0.1:${upstreamPort}/smartWeb' }\nlisten: { host: 127.0.0.1, port: 0 }\n${yaml}`,
  );
  const jvm = yaml.includes('jvm:') ? {} : { D2_SIDECAR_JVM_SOURCE: 'none' };
  const env = { TMPDIR: folder, D2_SIDECAR_MONITOR_PORT: '0', ...jvm };
  sidecar = await startSidecarProcess(['--config', config], env, COMMAND);
  return sidecar;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** Like a Kubernetes probe, without verifying the certificate. */
function get(address: string, target: string, isSecure = false, token = READER.token): Promise<Answer> {
  const [host, port] = address.split(':');
  const options = { host, port, path: target, agent: false, headers: { authorization: `Bearer ${token}` } };
  return new Promise((resolve, reject) => {
    const onResponse = (response: http.IncomingMessage) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', body }),
      );
    };
    const request = isSecure
      ? https.get({ ...options, rejectUnauthorized: false }, onResponse)
      : http.get(options, onResponse);
    request.on('error', reject);
  });
}

async function expectCallPasses({ listen }: SidecarProcess): Promise<void> {
  expect(await get(listen, '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Ping')).toMatchObject({
    status: 200,
    body: '{"value":1}',
  });
}

const tlsOf = ({ certFile, keyFile }: Pair) => `tls: { certFile: ${certFile}, keyFile: ${keyFile} }`;
const tokens = (name: string) => `monitor: { auth: { tokensFile: ${at(name)} } }`;
const users = (name: string) => `monitor: { auth: { usersFile: ${at(name)} } }`;

/** Stands for the log, in place of an endpoint. */
const LOG = 'log';
const JVM = '/smartWeb/api/rest/v0/admin/metrics/jvm';

/** What is wrong, the configuration (created once the folder exists), and the detail of every answer except to probes. */
const CLOSED: readonly (readonly [name: string, yaml: () => string, reason: RegExp])[] = [
  ['a missing tokens file', () => tokens('none'), /^monitor\.auth\.tokensFile cannot be used \(ENOENT\)/],
  [
    'a tokens file of another user',
    () => {
      shutFile('tokens', READER.line);
      return tokens('tokens');
    },
    /^monitor\.auth\.tokensFile cannot be used \(EACCES\)/,
  ],
  [
    'a tokens file that everyone can read',
    () => {
      file('tokens', READER.line, 0o644);
      return tokens('tokens');
    },
    /^monitor\.auth\.tokensFile cannot be used \(D2S_ERR_ACCESS_FILE\)/,
  ],
  [
    'a tokens file with a malformed line',
    () => {
      file('tokens', `${READER.line}\nsomebody:metrics:s3cr3t\n`);
      return tokens('tokens');
    },
    /^monitor\.auth\.tokensFile cannot be used \(D2S_ERR_CONFIG\)/,
  ],
  [
    'an empty users file',
    () => {
      file('users', '# nobody yet\n');
      return users('users');
    },
    /^monitor\.auth cannot be used \(D2S_ERR_CONFIG\)/,
  ],
  [
    'a missing key of monitor.tls',
    () => `monitor: { ${tlsOf({ certFile: own.certFile, keyFile: at('none') })} }`,
    /^monitor\.tls\.keyFile cannot be used \(ENOENT\)/,
  ],
  [
    'a key of monitor.tls of another user',
    () =>
      `monitor: { ${tlsOf({ certFile: own.certFile, keyFile: shutFile('key', readFileSync(own.keyFile, 'utf8')) })} }`,
    /^monitor\.tls\.keyFile cannot be used \(EACCES\)/,
  ],
  [
    'a key of another certificate in monitor.tls',
    () => `monitor: { ${tlsOf({ certFile: own.certFile, keyFile: other.keyFile })} }`,
    /^monitor\.tls\.keyFile cannot be used \(D2S_ERR_CONFIG\)/,
  ],
  [
    'a missing authority of monitor.tls',
    () =>
      `monitor: { tls: { certFile: ${own.certFile}, keyFile: ${own.keyFile}, clientCaFile: ${at('none')}, clientAuth: request } }`,
    /^monitor\.tls\.clientCaFile cannot be used \(ENOENT\)/,
  ],
];

describe('a start with unusable monitoring credentials', () => {
  it.each(CLOSED)('passes calls, and answers 503 to everything but probes: %s', async (_name, yaml, reason) => {
    const text = yaml();
    const isSecure = text.includes('tls:');
    const running = await start(text);
    await expectCallPasses(running);
    for (const probe of ['/livez', '/readyz', '/startupz']) {
      expect((await get(running.monitor, probe, isSecure)).status).toBe(200);
    }
    for (const target of [METRICS, '/smartWeb/api/rest/v0/admin/d2/sessions', '/openapi.json', '/no/such/path']) {
      const { status, type, body } = await get(running.monitor, target, isSecure);
      expect({ target, status, type }).toEqual({ target, status: 503, type: 'application/problem+json' });
      const { detail } = JSON.parse(body) as { detail: string };
      expect(detail).toMatch(reason);
      expect(detail).not.toContain(folder);
    }
    const errors = running.logs.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(1);
    expect(errors[0]?.reason).toMatch(/^monitor\.(?:auth|tls)/);
    expect(JSON.stringify(running.logs) + running.stderr()).not.toContain('s3cr3t');
    expect(await running.stop()).toBe(0);
  });

  it('uses a tokens file as soon as it can be read', async () => {
    const running = await start(tokens('tokens'));
    expect((await get(running.monitor, METRICS)).status).toBe(503);
    file('tokens', READER.line);
    await expect.poll(async () => (await get(running.monitor, METRICS)).status, WAIT).toBe(200);
    expect((await get(running.monitor, METRICS, false, 'd2s_wrong')).status).toBe(401);
    const { body } = await get(running.monitor, METRICS);
    expect(body).toContain('d2_sidecar_files_unusable_total{section="monitor.auth"} 1\n');
    expect(body).toContain('d2_sidecar_files_replaced_total{section="monitor.auth"} 1\n');
  });

  it('uses a certificate of the monitoring port as soon as it can be read', async () => {
    const running = await start(`monitor: { ${tlsOf({ certFile: own.certFile, keyFile: at('key') })} }`);
    expect((await get(running.monitor, METRICS, true)).status).toBe(503);
    file('key', readFileSync(own.keyFile, 'utf8'));
    await expect.poll(async () => (await get(running.monitor, METRICS, true)).status, WAIT).toBe(200);
  });
});

/** What is wrong, the configuration, and the text in the log or in the answer of an endpoint. */
const SERVING: readonly (readonly [name: string, yaml: () => string, said: RegExp, target: string])[] = [
  [
    'an access log in a missing folder',
    () => `accessLog: { file: ${at('none/access.log')} }`,
    /"code":"D2S_ERR_ACCESS_LOG".*"reason":"ENOENT"/,
    LOG,
  ],
  [
    'an access log that is a folder',
    () => {
      mkdirSync(at('log'));
      return `accessLog: { file: ${at('log')} }`;
    },
    /"code":"D2S_ERR_ACCESS_LOG".*"reason":"EISDIR"/,
    LOG,
  ],
  [
    'an access log in an unwritable folder',
    () => `accessLog: { file: ${shutFolder('log')}/access.log }`,
    /"code":"D2S_ERR_ACCESS_LOG".*"reason":"EACCES"/,
    LOG,
  ],
  [
    'a state file in an unwritable folder',
    () => `state: { file: ${shutFolder('state')}/state }`,
    /"code":"D2S_ERR_STATE_FILE".*EACCES/,
    LOG,
  ],
  [
    'a state file in a missing folder',
    () => `state: { file: ${at('none/state')} }`,
    /"code":"D2S_ERR_STATE_FILE".*does not exist/,
    LOG,
  ],
  [
    'a malformed state file',
    () => `state: { file: ${file('state', 'no state')} }`,
    /"code":"D2S_ERR_STATE_FILE".*the state file is refused/,
    LOG,
  ],
  [
    'a receiver of OTLP whose name does not resolve',
    () => `otlp: { endpoint: 'http://receiver.invalid:4318', timeout: 1s, metrics: { interval: 1s } }`,
    /"code":"D2S_ERR_OTLP".*"detail":"(?:ENOTFOUND|EAI_AGAIN)"/,
    LOG,
  ],
  [
    'missing files for OTLP',
    () =>
      `otlp: { endpoint: 'https://127.0.0.1:1', headersFile: ${at('none')}, caFile: ${at('none')}, timeout: 1s, metrics: { interval: 1s } }`,
    /"code":"D2S_ERR_OTLP".*none/,
    LOG,
  ],
  [
    'a missing password file of the JVM',
    () =>
      `jvm: { interval: 1s, http: { kind: jolokia, url: 'http://127.0.0.1:1/', username: a, passwordFile: ${at('none')} } }`,
    /cannot be read \(ENOENT\); create it/,
    JVM,
  ],
  [
    'a missing authority of the JVM',
    () => `jvm: { interval: 1s, http: { kind: jolokia, url: 'https://127.0.0.1:1/', caFile: ${at('none')} } }`,
    /none|ENOENT/,
    JVM,
  ],
  [
    'a JVM whose name does not resolve',
    () => `jvm: { interval: 1s, http: { kind: jolokia, url: 'http://jvm.invalid:1/' } }`,
    /ENOTFOUND|EAI_AGAIN|resolve/,
    JVM,
  ],
];

describe('a start with another unusable part of the monitoring side', () => {
  it.each(SERVING)('passes calls, and says what is wrong: %s', async (_name, yaml, said, target) => {
    const running = await start(yaml());
    await expectCallPasses(running);
    const told = async () =>
      target === LOG
        ? running.logs.map((line) => JSON.stringify(line)).join('\n')
        : (await get(running.monitor, target)).body;
    await expect.poll(told, WAIT).toMatch(said);
    expect((await get(running.monitor, METRICS)).status).toBe(200);
    expect(running.logs.find(({ msg }) => msg === 'listening')).toBeDefined();
  });
});

describe.runIf(IS_ROOT)('check, run by root', () => {
  const NOBODY = 65_534;

  function run(...args: string[]): { code: number | null; stderr: string } {
    const { status, stderr } = spawnSync(process.execPath, [MAIN_PATH, ...args], { encoding: 'utf8' });
    return { code: status, stderr };
  }

  it('reports files that the user cannot read; a file made by passwd in a folder of the user’s group is readable', () => {
    chownSync(folder, 0, NOBODY);
    chmodSync(folder, 0o750);
    const config = file('sidecar.yaml', `upstream: { url: 'http://127.0.0.1:1' }\n${tokens('tokens')}\n`, 0o644);
    const check = () => run('check', '--as', 'nobody', '--config', config);
    expect(run('passwd', 'prometheus', '--token', '--file', at('tokens')).code).toBe(0);
    expect(check()).toEqual({ code: 0, stderr: '' });
    chmodSync(at('tokens'), 0o600);
    expect(check()).toEqual({
      code: 1,
      stderr:
        'd2-sidecar: checked as the user nobody\n' +
        `d2-sidecar: D2S_ERR_ACCESS_FILE: monitor.auth.tokensFile: ${at('tokens')} cannot be read: EACCES\n`,
    });
    expect(run('check', '--as', 'root', '--config', config).code).toBe(0);
    chmodSync(config, 0o600);
    expect(check().stderr).toContain(`D2S_ERR_CONFIG_FILE: ${config} cannot be read: EACCES\n`);
  });

  it('reports a bad --as', () => {
    const upstreamOf = ['--upstream', 'http://127.0.0.1:1'];
    const { code, stderr } = run('check', '--as', 'no-such-user', ...upstreamOf);
    expect([code, stderr.split('\n')[0]]).toEqual([
      64,
      'd2-sidecar: --as: got "no-such-user", expected a user of this machine',
    ]);
  });
});
