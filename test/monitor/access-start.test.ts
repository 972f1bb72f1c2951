import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError, StartError } from '../../src/errors.ts';
import { Folder, tokenLine } from '../access/access-files.ts';
import { startStand } from '../wire/stand.ts';

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
  it('lets in who is in the files, and follows these', async () => {
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

  it('does not start with a line that cannot be used, or with a file that is open to everybody', async () => {
    const { line } = tokenLine('prometheus', 'metrics');
    await expect(startWith(folder.write('tokens', 's3cr3t'))).rejects.toBeInstanceOf(ConfigError);
    await expect(startWith(folder.write('tokens', line, 0o644))).rejects.toBeInstanceOf(StartError);
  });
});
