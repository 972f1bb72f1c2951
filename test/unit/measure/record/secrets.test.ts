import { randomBytes } from 'node:crypto';
import v8 from 'node:v8';
import { expect, it } from 'vitest';
import { BASE, CANCELLED, FAILED, LOGIN, LOGOUT, RPC, Traffic } from '../../../support/measure/record/traffic.ts';

/** Held as bytes outside the heap, so that looking for a secret does not put it there. */
type Needle = Buffer;

/** Traffic of users, keys and cookies with secrets that exist nowhere else, and what to look for. */
function sendSecrets(traffic: Traffic): Needle[] {
  const needles: Needle[] = [];
  for (let i = 0; i < 20; i += 1) {
    const secret = `S${randomBytes(12).toString('hex')}`;
    const user = `user-${i}`;
    needles.push(Buffer.from(secret), Buffer.from(Buffer.from(`${user}:${secret}`).toString('base64')));
    for (const who of [{ user, password: secret }, { apiKey: secret }]) {
      const path = `POST ${BASE}/d2/rpc/E.Demo;jsessionid=${secret}/Test${i};jsessionid=${secret}?token=${secret}`;
      const sent = { ...who, fields: { cookie: `JSESSIONID=${secret}` }, from: `10.0.0.${i}` };
      traffic.send({ line: LOGIN, ...sent });
      traffic.send({ line: path, ...sent });
      traffic.send({ line: path, ...sent }, { status: 500 });
      traffic.send({ line: path, ...sent }, { ending: FAILED });
      traffic.send({ line: path, ...sent }, { ending: CANCELLED });
      // Remembered as it stands: a slice of its line, unless copied.
      traffic.send({ line: `POST ${BASE}/d2/rpc/E.Plain/Test${i}?token=${secret}`, ...sent });
      traffic.send({ line: `GET /page;jsessionid=${secret}?token=${secret}`, ...sent });
    }
    // A wrong password, and a session that has ended.
    traffic.send({ line: RPC, user, password: `${secret}wrong` }, { status: 404 });
    if (i % 2 === 0) traffic.send({ line: LOGOUT, user, password: secret });
  }
  return needles;
}

async function heap(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of v8.getHeapSnapshot()) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

it('no credential, cookie or query is left anywhere in memory when its exchange has ended', async () => {
  // A compiler on another thread holds what its function saw last, until it is done.
  for (const flag of ['--no-opt', '--no-maglev']) v8.setFlagsFromString(flag);
  const traffic = new Traffic();
  const needles = sendSecrets(traffic);
  // The engine keeps what the last regular expression looked at.
  expect(/a/.test('a')).toBe(true);
  const control = { kept: `kept-${needles[0]?.toString('latin1')}` };
  const dump = await heap();
  v8.setFlagsFromString('--opt');
  const found = needles.map((needle) => dump.includes(needle));
  // The first one is kept on purpose: the search would find the others too.
  expect(control.kept).toMatch(/^kept-S/);
  expect(found).toEqual(needles.map((_, index) => index === 0));
  expect(traffic.sessions()).toHaveLength(30);
});
