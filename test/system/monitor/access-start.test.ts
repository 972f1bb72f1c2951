import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Folder, tokenLine } from '../../support/monitor/access/access-files.ts';
import { startStand } from '../wire/stand.ts';

const READER = tokenLine('prometheus', 'sessions');

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

function startWith(tokensFile: string, hosts: readonly string[] = []) {
  return startStand({
    config: ({ monitor }) => ({ monitor: { ...monitor, auth: { usersFile: undefined, tokensFile }, hosts } }),
  });
}

describe('a sidecar with monitor.auth', () => {
  it('admits the readers in its files, and follows changes of the files', async () => {
    const [first, second] = [tokenLine('prometheus', 'metrics'), tokenLine('grafana', 'sessions')];
    const stand = await startWith(folder.write('tokens', first.line));
    const statusOf = async (token?: string) => {
      const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const url = `http://127.0.0.1:${stand.monitorPort}/smartWeb/api/rest/v0/admin/d2/sessions`;
      const response = await fetch(url, { headers });
      await response.arrayBuffer();
      return response.status;
    };
    const before = [await statusOf(), await statusOf(first.token), await statusOf(second.token)];
    folder.write('tokens', second.line);
    await stand.sidecar.access.poll();
    const after = [await statusOf(), await statusOf(first.token), await statusOf(second.token)];
    await stand.close();
    expect([before, after]).toEqual([
      [401, 403, 401],
      [401, 401, 200],
    ]);
  });

  it.each([
    ['a line that cannot be used', () => folder.write('tokens', `${READER.line}\ns3cr3t`)],
    ['a file that is open to everybody', () => folder.write('tokens', READER.line, 0o644)],
    ['a file that is not there', () => `${folder.path}/none`],
  ])('starts with %s, and lets nobody in, whatever is asked for and whoever asks', async (_what, write) => {
    const stand = await startWith(write());
    const statusOf = async (target: string, fields: Record<string, string> = {}) => {
      const headers = { authorization: `Bearer ${READER.token}`, ...fields };
      const response = await fetch(`http://127.0.0.1:${stand.monitorPort}${target}`, { headers });
      await response.arrayBuffer();
      return [response.status, response.headers.get('retry-after')];
    };
    const closed = [];
    for (const target of ['/metrics', '/openapi.json', '/none', '/smartWeb/api/rest/v0/admin/d2/sessions', '/a%']) {
      closed.push(await statusOf(target), await statusOf(target, { authorization: 'Basic YTpi' }));
    }
    const health = [await statusOf('/livez'), await statusOf('/readyz'), await statusOf('/startupz')];
    await stand.close();
    expect(new Set(closed.map(String))).toEqual(new Set(['503,5']));
    expect(health).toEqual([
      [200, null],
      [200, null],
      [200, null],
    ]);
  });
});
