/** Names from clients with characters that must not be shown: how each reader of the monitoring port gets them. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Folder } from '../../support/monitor/access/access-files.ts';
import { send } from '../../support/net.ts';
import { answering, OK, startStand } from '../wire/stand.ts';

const BASE = '/smartWeb/api/rest/v0';
/** Two names that look the same in a terminal. */
const ODD = ['E.\x1b[31m/\u202eTest', 'E.\u202e[31m/\x9bTest'];
const SHOWN = 'E.\ufffd[31m.\ufffdTest';
const HIDDEN = /[\p{Cc}\p{Cf}]/u;

const folder = new Folder();
const accessLogFile = `${folder.path}/access.log`;
const stand = await startStand({
  onConnection: answering(OK),
  config: ({ accessLog }) => ({ accessLog: { ...accessLog, file: accessLogFile } }),
});

beforeAll(async () => {
  for (const name of ODD) await call('POST', `d2/rpc/${name.split('/').map(encodeURIComponent).join('/')}`);
  await call('GET', `d2/object/${encodeURIComponent('H.\x1b]0;title\x07')}`);
});

afterAll(async () => {
  await stand.close();
  folder.remove();
});

async function call(method: string, target: string): Promise<void> {
  expect((await send(stand.port, `${BASE}/${target}`, { method })).status).toBe(200);
}

async function read(target: string): Promise<string> {
  const { status, body } = await send(stand.monitorPort, target);
  expect([target, status]).toEqual([target, 200]);
  return body;
}

describe('a name with control characters', () => {
  it('is one series of /metrics, without these characters', async () => {
    const lines = (await read('/metrics')).split('\n');
    expect(lines.filter((line) => HIDDEN.test(line))).toEqual([]);
    expect(lines).toContain(`d2_calls_total{application="smartWeb",kind="rpc",name="${SHOWN}",outcome="ok"} 2`);
    expect(lines).toContain('d2_object_values_total{application="smartWeb",name="H.\ufffd]0;title\ufffd"} 1');
  });

  it('is found by its shown name, and by the names that clients sent', async () => {
    for (const name of [SHOWN, ...ODD.map((odd) => odd.replace('/', '.'))]) {
      const { timers } = JSON.parse(await read(`${BASE}/admin/metrics/d2/rpc/${encodeURIComponent(name)}`));
      expect(timers).toMatchObject({ [`rpc.${SHOWN}`]: { count: 2 } });
    }
    const object = await read(`${BASE}/admin/metrics/d2/object/${encodeURIComponent('H.\x1b]0;title\x07')}`);
    expect(object).toContain('object.H.\ufffd]0;title\ufffd.newValues');
  });

  it('is the same in the tables of the live page', async () => {
    const rows = await read('/live/smartWeb/rpc');
    expect(rows).toContain(SHOWN);
    expect(rows).not.toMatch(HIDDEN);
  });

  it('is the same in the access log', async () => {
    await expect.poll(() => readFileSync(accessLogFile, 'utf8').split('\n').length).toBe(4);
    const lines = readFileSync(accessLogFile, 'utf8').trimEnd().split('\n');
    expect(lines.filter((line) => HIDDEN.test(line))).toEqual([]);
    const names = lines.map((line) => (JSON.parse(line) as { name: string }).name);
    expect(names).toEqual([SHOWN, SHOWN, 'H.\ufffd]0;title\ufffd']);
  });
});
