/** `d2-sidecar report` on a real sidecar, under traffic. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../support/deferred.ts';
import { portOf, restCall, send, startApplication } from '../support/net.ts';
import { runSidecar, startSidecarBefore } from '../support/sidecar-process.ts';

interface Report {
  readonly log: { readonly lines: readonly unknown[] };
  readonly sessions: Readonly<Record<string, { readonly list: readonly Readonly<Record<string, unknown>>[] }>>;
  readonly unclassified: readonly unknown[];
}

const defer = deferTo(afterAll);
const folder = temporaryFolder(defer);
const at = (name: string) => `${folder}/${name}`;
const upstream = await startApplication(({ url }, response) => {
  if (url?.includes('Break')) response.destroy();
  else response.end('{}');
}, defer);
const D2_SIDECAR_SESSIONS_API_KEYS = '[{ user: key-user, key: s3cr3t }]';
const sidecar = await startSidecarBefore(upstream.port, { TMPDIR: folder, D2_SIDECAR_SESSIONS_API_KEYS }, [], defer);
const port = portOf(sidecar.listen);
for (const method of ['Test', 'Break']) await restCall(port, `rpc/E.Demo/${method}`, 'anna');
await restCall(port, 'rpc/E.Demo/Test', undefined, { headers: { 'x-api-key': 's3cr3t' } });
await send(port, '/smartWeb/odata/Pumps(7)', { method: 'POST' });

/** With sockets in the folder of this test. */
function run(args: readonly string[] = [], command?: readonly string[]) {
  return runSidecar(['report', ...args], { TMPDIR: folder }, command);
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
    const warning = { level: 'warn', code: 'D2S_ERR_UPSTREAM_TERMINATED' };
    expect(report.log.lines).toContainEqual(expect.objectContaining(warning));
    expect(report.unclassified).toEqual([]);
    expect(stdout).not.toMatch(/anna|key-user|s3cr3t|remoteAddress/);
  });

  it('names users on request, in a new file that is closed to others', async () => {
    const file = at('report.json');
    const { code, stdout } = await run(['--with-users', '--out', file]);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`report written to ${file}`)]);
    const { sessions, unclassified } = JSON.parse(readFileSync(file, 'utf8')) as Report;
    expect(unclassified).toMatchObject([{ path: '/smartWeb/odata/Pumps({})', count: 1 }]);
    const users = sessions.smartWeb?.list.map(({ userName, remoteAddress }) => [userName, remoteAddress]);
    expect(users).toEqual(['anna', 'key-user'].map((user) => [user, '127.0.0.1']));
    expect(readFileSync(file, 'utf8')).not.toContain('s3cr3t');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await run(['--out', file])).toMatchObject({ code: 64, stderr: expect.stringContaining('already exists') });
    const failed = { code: 1, stderr: expect.stringContaining('D2S_ERR_REPORT') };
    expect(await run(['--out', at('nowhere/report.json')])).toMatchObject(failed);
  });

  it('leaves no partial file on a full disk', async () => {
    const file = at('cut.json');
    // A limit of a kilobyte instead of a full disk: in both cases the write fails.
    const limited = ['sh', '-c', 'ulimit -f 1; exec "$0" "$@"', process.execPath];
    const { code, stderr } = await run(['--out', file], limited);
    expect([code, stderr]).toEqual([1, `d2-sidecar: D2S_ERR_REPORT: ${file} cannot be written: EFBIG\n`]);
    expect(existsSync(file)).toBe(false);
    expect(await run(['--out', file])).toMatchObject({ code: 0 });
  });
});
