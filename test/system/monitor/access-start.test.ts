import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Folder, tokenLine } from '../../support/monitor/access/access-files.ts';
import { send } from '../../support/net.ts';
import { startStand } from '../wire/stand.ts';

const SESSIONS = '/smartWeb/api/rest/v0/admin/d2/sessions';
const READER = tokenLine('prometheus', 'sessions');

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => folder.remove());

async function startWith(tokensFile: string) {
  const stand = await startStand({
    config: ({ monitor }) => ({ monitor: { ...monitor, auth: { usersFile: undefined, tokensFile } } }),
  });
  onTestFinished(() => stand.close());
  const ask = (target: string, authorization?: string) =>
    send(stand.monitorPort, target, { headers: authorization === undefined ? {} : { authorization } });
  return { stand, ask };
}

describe('a sidecar with monitor.auth', () => {
  it('admits the readers in its files, and follows changes of the files', async () => {
    const [first, second] = [tokenLine('prometheus', 'metrics'), tokenLine('grafana', 'sessions')];
    const { stand, ask } = await startWith(folder.write('tokens', first.line));
    const statusOf = async (credential?: string) => (await ask(SESSIONS, credential)).status;
    const statuses = async () => [
      ...[await statusOf(), await statusOf(`Bearer ${first.token}`), await statusOf(`Bearer ${second.token}`)],
    ];
    expect(await statuses()).toEqual([401, 403, 401]);
    folder.write('tokens', second.line);
    await stand.sidecar.access.poll();
    expect(await statuses()).toEqual([401, 401, 200]);
  });

  it.each([
    ['a line that cannot be used', () => folder.write('tokens', `${READER.line}\ns3cr3t`)],
    ['a file that is open to everybody', () => folder.write('tokens', READER.line, 0o644)],
    ['a file that is not there', () => `${folder.path}/none`],
  ])('starts with %s, and lets nobody in, whatever is asked for and whoever asks', async (_what, write) => {
    const { ask } = await startWith(write());
    for (const target of ['/metrics', '/openapi.json', '/none', SESSIONS, '/a%']) {
      for (const credential of [`Bearer ${READER.token}`, 'Basic YTpi']) {
        const { status, headers } = await ask(target, credential);
        expect([target, status, headers['retry-after']]).toEqual([target, 503, '5']);
      }
    }
    for (const target of ['/livez', '/readyz', '/startupz']) {
      const { status, headers } = await ask(target, `Bearer ${READER.token}`);
      expect([target, status, headers['retry-after']]).toEqual([target, 200, undefined]);
    }
  });
});
