/** `d2-sidecar report` on a real sidecar, under traffic. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listening } from '../support/net.ts';
import { flagsFor, MAIN_PATH, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';

const CALL = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test';

interface Report {
  readonly state: { readonly lifecycle: string; readonly upstreamFailures: Readonly<Record<string, number>> };
  readonly log: { readonly lines: readonly Readonly<Record<string, unknown>>[] };
  readonly statistics: Readonly<Record<string, { readonly timers: Readonly<Record<string, { count: number }>> }>>;
  readonly sessions: Readonly<Record<string, { readonly list: readonly Readonly<Record<string, unknown>>[] }>>;
  readonly configuration: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly unclassified: readonly { readonly path: string; readonly count: number; readonly p95: number }[];
}

let folder: string;
let upstream: http.Server;
let sidecar: SidecarProcess;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'd2s-report-'));
  upstream = http.createServer((request, response) => {
    request.resume();
    if (request.url?.includes('Break')) response.destroy();
    else response.end('{}');
  });
  const port = await listening(upstream);
  sidecar = await startSidecarProcess(flagsFor(port), {
    ...{ D2_SIDECAR_JVM_SOURCE: 'none', TMPDIR: folder },
    D2_SIDECAR_SESSIONS_API_KEYS: '[{ user: key-user, key: s3cr3t }]',
  });
  const anna = { authorization: `Basic ${Buffer.from('anna:pass').toString('base64')}` };
  for (const [target, headers] of [
    [CALL, anna],
    [CALL, { 'x-api-key': 's3cr3t' }],
    [`${CALL}Break`, anna],
    ['/smartWeb/odata/Pumps(7)', {}],
  ] as const) {
    await (await fetch(`http://${sidecar.listen}${target}`, { method: 'POST', headers })).text();
  }
});
afterAll(async () => {
  await sidecar.stop();
  upstream.closeAllConnections();
  upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Like a user on a command line, with sockets in the folder of this test. */
function run(...args: string[]): Promise<Ended> {
  return started(process.execPath, [MAIN_PATH, 'report', ...args]);
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function started(program: string, args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, TMPDIR: folder }, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(program, args, options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
  });
}

describe('d2-sidecar report', { timeout: 60_000 }, () => {
  it('prints the condition of the only sidecar, without users, keys and addresses', async () => {
    const { code, stdout, stderr } = await run();
    expect([code, stderr]).toEqual([0, '']);
    const report = JSON.parse(stdout) as Report;
    expect(report).toMatchObject({
      state: { lifecycle: 'serving', upstreamFailures: { D2S_ERR_UPSTREAM_TERMINATED: 1 } },
      configuration: { sessions: { apiKeys: [{ user: '[hidden]', key: '[hidden]' }] }, jvm: { source: 'none' } },
      versions: { node: process.versions.node },
    });
    expect(report.statistics.smartWeb?.timers['rpc.E.Demo.Test']?.count).toBe(2);
    expect(report.sessions.smartWeb?.list).toMatchObject([{ connectionType: 'REST' }, { connectionType: 'REST' }]);
    expect(report.log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', code: 'D2S_ERR_UPSTREAM_TERMINATED' }),
    );
    expect(report.unclassified).toEqual([]);
    expect(stdout).not.toMatch(/anna|key-user|s3cr3t|remoteAddress/);
  });

  it('names users on request, in a new file that is closed to others', async () => {
    const file = path.join(folder, 'report.json');
    const { code, stdout } = await run('--with-users', '--out', file);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`is reported in ${file}`)]);
    const { sessions, unclassified } = JSON.parse(readFileSync(file, 'utf8')) as Report;
    expect(unclassified).toMatchObject([{ path: '/smartWeb/odata', count: 1 }]);
    const users = sessions.smartWeb?.list.map(({ userName, remoteAddress }) => [userName, remoteAddress]);
    expect(users).toEqual([
      ['anna', '127.0.0.1'],
      ['key-user', '127.0.0.1'],
    ]);
    expect(readFileSync(file, 'utf8')).not.toContain('s3cr3t');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await run('--out', file)).toMatchObject({ code: 64, stderr: expect.stringContaining('there already') });
    const nowhere = path.join(folder, 'nowhere', 'report.json');
    expect(await run('--out', nowhere)).toMatchObject({ code: 1, stderr: expect.stringContaining('D2S_ERR_REPORT') });
  });

  it('leaves no partial file on a full disk', async () => {
    const file = path.join(folder, 'cut.json');
    // A limit of a kilobyte in place of a full disk: in both cases the write fails.
    const limited = 'ulimit -f 1; exec "$0" "$@"';
    const args = ['-c', limited, process.execPath, MAIN_PATH, 'report', '--out', file];
    const { code, stderr } = await started('sh', args);
    expect([code, stderr]).toEqual([1, `d2-sidecar: D2S_ERR_REPORT: ${file} cannot be written: EFBIG\n`]);
    expect(existsSync(file)).toBe(false);
    expect(await run('--out', file)).toMatchObject({ code: 0 });
  });

  it('says what to do when no sidecar runs', async () => {
    const { code, stdout, stderr } = await run('--pid', '1');
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^d2-sidecar: D2S_ERR_CONTROL: no running sidecar of this user has the process id 1 .*\n$/);
  });
});
