/** No fault of the monitoring side keeps a real sidecar from passing calls: it starts, and reports the fault. */
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { untilTestEnds } from '../support/deferred.ts';
import { useFolder } from '../support/export/access-log/folder.ts';
import { basic, tokenLine } from '../support/monitor/access/access-files.ts';
import { portOf, send, startApplication } from '../support/net.ts';
import { runSidecar, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';
import { useCertificates } from '../support/tls/ends.ts';

const WAIT = { timeout: 15_000, interval: 50 };
const READER = tokenLine('prometheus', 'metrics');
const METRICS = '/metrics';
const JVM = '/smartWeb/api/rest/v0/admin/metrics/jvm';
const IS_ROOT = process.getuid?.() === 0;
/** Root may read everything, unless it drops that capability. */
const COMMAND = [...(IS_ROOT ? ['setpriv', '--bounding-set', '-dac_override,-dac_read_search'] : []), process.execPath];
const OTHER_UID = 4_711;

const certificates = useCertificates();
const authority = certificates.authority();
const own = certificates.signed(authority, { name: 'plant' });
const other = certificates.signed(authority, { name: 'other' });
const at = useFolder();
const upstream = await startApplication((_request, response) => response.end('{"value":1}'));
afterAll(() => {
  upstream.close();
});

function file(name: string, text: string, mode = 0o600): string {
  writeFileSync(at(name), text);
  chmodSync(at(name), mode);
  return at(name);
}

/** Gives a file or folder to another user, and closes it to all others. */
function shut(path: string): string {
  if (IS_ROOT) chownSync(path, OTHER_UID, OTHER_UID);
  else chmodSync(path, 0);
  return path;
}

/** A file in a folder of another user. */
function shutFolder(name: string): string {
  mkdirSync(at(name), { mode: 0o700 });
  return `${shut(at(name))}/file`;
}

async function start(yaml: string): Promise<SidecarProcess> {
  const url = `http://127.0.0.1:${upstream.port}/smartWeb`;
  const config = file('sidecar.yaml', `upstream: { url: '${url}' }\nlisten: { host: 127.0.0.1, port: 0 }\n${yaml}`);
  const jvm = yaml.includes('jvm:') ? {} : { D2_SIDECAR_JVM_SOURCE: 'none' };
  const env = { TMPDIR: at(''), D2_SIDECAR_MONITOR_PORT: '0', ...jvm };
  const sidecar = await startSidecarProcess(['--config', config], env, COMMAND);
  untilTestEnds(() => sidecar.stop('SIGKILL'));
  return sidecar;
}

/** Like a Kubernetes probe, without verifying the certificate. */
function get(address: string, target: string, isSecure = false, authorization = `Bearer ${READER.token}`) {
  const tls = isSecure ? { protocol: 'https:', rejectUnauthorized: false } : {};
  return send(portOf(address), target, { headers: { authorization }, ...tls });
}

async function expectCallPasses({ listen }: SidecarProcess): Promise<void> {
  const answer = await send(portOf(listen), '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Ping', { method: 'POST' });
  expect(answer).toMatchObject({ status: 200, body: '{"value":1}' });
}

function tlsOf(certFile: string, keyFile: string, clientCaFile?: string): string {
  const authority = clientCaFile === undefined ? '' : `, clientCaFile: ${clientCaFile}, clientAuth: request`;
  return `monitor: { tls: { certFile: ${certFile}, keyFile: ${keyFile}${authority} } }`;
}
const tokens = (path: string) => `monitor: { auth: { tokensFile: ${path} } }`;
const users = (path: string) => `monitor: { auth: { usersFile: ${path} } }`;
const MALFORMED = `${READER.line}\nsomebody:metrics:s3cr3t\n`;

/** What is wrong, the configuration (created once the folder exists), and the key and reason in every answer except to probes. */
const CLOSED: readonly (readonly [name: string, yaml: () => string, key: string, reason: string])[] = [
  ['a tokens file of another user', () => tokens(shut(file('tokens', READER.line))), 'auth.tokensFile', 'EACCES'],
  ['an empty users file', () => users(file('users', '# nobody yet\n')), 'auth', 'D2S_ERR_CONFIG'],
  ['a tokens file with a malformed line', () => tokens(file('tokens', MALFORMED)), 'auth.tokensFile', 'D2S_ERR_CONFIG'],
  ['a key of another certificate', () => tlsOf(own.certFile, other.keyFile), 'tls.keyFile', 'D2S_ERR_CONFIG'],
  ['a missing authority', () => tlsOf(own.certFile, own.keyFile, at('none')), 'tls.clientCaFile', 'ENOENT'],
];

describe('a start with unusable monitoring credentials', () => {
  it.each(CLOSED)('passes calls, and answers 503 to everything but probes: %s', async (_name, yaml, key, reason) => {
    const begin = `monitor.${key} cannot be used (${reason})`;
    const text = yaml();
    const isSecure = text.includes('tls:');
    const running = await start(text);
    await expectCallPasses(running);
    for (const probe of ['/livez', '/readyz', '/startupz']) {
      expect((await get(running.monitor, probe, isSecure)).status).toBe(200);
    }
    for (const target of [METRICS, '/smartWeb/api/rest/v0/admin/d2/sessions', '/no/such/path', '/a%']) {
      for (const credential of [undefined, basic('ann', 'secret')]) {
        const { status, headers, body } = await get(running.monitor, target, isSecure, credential);
        expect([target, status, headers['content-type']]).toEqual([target, 503, 'application/problem+json']);
        expect(headers['retry-after']).toBe('5');
        const { detail } = JSON.parse(body) as { detail: string };
        expect(detail.slice(0, begin.length)).toBe(begin);
        expect(detail).not.toContain(at('').slice(0, -1));
      }
    }
    const errors = running.logs.filter(({ level }) => level === 'error');
    expect(errors).toHaveLength(1);
    expect(errors[0]?.reason).toMatch(/^monitor\.(?:auth|tls)/);
    expect(JSON.stringify(running.logs) + running.stderr()).not.toContain('s3cr3t');
    expect(await running.stop()).toBe(0);
  });

  it('uses a tokens file as soon as it can be read', async () => {
    const running = await start(tokens(at('tokens')));
    expect((await get(running.monitor, METRICS)).status).toBe(503);
    file('tokens', READER.line);
    await expect.poll(async () => (await get(running.monitor, METRICS)).status, WAIT).toBe(200);
    expect((await get(running.monitor, METRICS, false, 'Bearer d2s_wrong')).status).toBe(401);
    const { body } = await get(running.monitor, METRICS);
    expect(body).toContain('d2_sidecar_files_unusable_total{section="monitor.auth"} 1\n');
    expect(body).toContain('d2_sidecar_files_replaced_total{section="monitor.auth"} 1\n');
  });
});

const jolokia = (more: string) => `jvm: { interval: 1s, http: { kind: jolokia, ${more} } }`;
const otlp = (more: string) => `otlp: { timeout: 1s, metrics: { interval: 1s }, ${more} }`;
const NONE = '/none/of/this/name';

/** Parts that are wrong at the same time, each with the text in the log, `/metrics`, or for the JVM the answer of `JVM`. */
const SERVING: Readonly<Record<string, readonly (readonly [yaml: () => string, words: RegExp])[]>> = {
  'a full disk, a malformed state file, names that do not resolve': [
    [() => 'accessLog: { file: /dev/full }', /"code":"D2S_ERR_ACCESS_LOG".*"reason":"ENOSPC"/],
    [() => `state: { file: ${file('state', 'no state')} }`, /"D2S_ERR_STATE_FILE".*the state file is refused/],
    [() => otlp(`endpoint: 'http://receiver.invalid:4318'`), /"D2S_ERR_OTLP".*"detail":"(?:ENOTFOUND|EAI_AGAIN)"/],
    [() => jolokia(`url: 'http://jvm.invalid:1/'`), /ENOTFOUND|EAI_AGAIN|resolve/],
  ],
  'folders of another user, missing files': [
    [() => `accessLog: { file: ${shutFolder('log')} }`, /"code":"D2S_ERR_ACCESS_LOG".*"reason":"EACCES"/],
    [() => `state: { file: ${shutFolder('state')} }`, /"code":"D2S_ERR_STATE_FILE".*EACCES/],
    [() => otlp(`endpoint: 'https://127.0.0.1:1', headersFile: ${NONE}, caFile: ${NONE}`), /"D2S_ERR_OTLP".*name/],
    [() => jolokia(`url: 'http://h:1/', username: a, passwordFile: ${NONE}`), /cannot be read \(ENOENT\); create it/],
  ],
};

it.each(Object.entries(SERVING))(
  'a start with other unusable parts of the monitoring side passes calls, and says what is wrong: %s',
  async (_name, parts) => {
    const running = await start(parts.map(([yaml]) => yaml()).join('\n'));
    await expectCallPasses(running);
    const logs = () => running.logs.map((line) => JSON.stringify(line)).join('\n');
    const said = async (target: string) => (await get(running.monitor, target)).body;
    const told = async () => [logs(), await said(JVM), await said(METRICS)].join('\n');
    for (const [, words] of parts) await expect.poll(told, WAIT).toMatch(words);
    expect((await get(running.monitor, METRICS)).status).toBe(200);
  },
);

describe.runIf(IS_ROOT)('check, run by root', () => {
  const NOBODY = 65_534;

  it('reports files that the user cannot read; a file made by passwd in a folder of the user’s group is readable', async () => {
    chownSync(at(''), 0, NOBODY);
    chmodSync(at(''), 0o750);
    const config = file('sidecar.yaml', `upstream: { url: 'http://127.0.0.1:1' }\n${tokens(at('tokens'))}\n`, 0o644);
    const checkAs = (user: string) => runSidecar(['check', '--as', user, '--config', config]);
    expect((await runSidecar(['passwd', 'prometheus', '--token', '--file', at('tokens')])).code).toBe(0);
    expect(await checkAs('nobody')).toMatchObject({ code: 0, stderr: '' });
    chmodSync(at('tokens'), 0o600);
    expect(await checkAs('nobody')).toMatchObject({
      code: 1,
      stderr:
        'd2-sidecar: checked as the user nobody\n' +
        `d2-sidecar: D2S_ERR_ACCESS_FILE: monitor.auth.tokensFile: ${at('tokens')} cannot be read: EACCES\n`,
    });
    expect((await checkAs('root')).code).toBe(0);
    chmodSync(config, 0o600);
    expect((await checkAs('nobody')).stderr).toContain(`D2S_ERR_CONFIG_FILE: ${config} cannot be read: EACCES\n`);
  });
});
