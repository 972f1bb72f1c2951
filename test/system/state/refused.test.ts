import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { loadState } from '../../../src/state/restore-state.ts';
import type { Savable } from '../../../src/state/saved-record.ts';
import { RPC } from '../../support/measure/record/traffic.ts';
import { StateFolder } from '../../support/state/restart.ts';
import { encodeRecords, linesOf, recordsOf } from '../../support/state/state-records.ts';

const folder = new StateFolder();
afterAll(() => folder.remove());

const { traffic, keeper } = await folder.start();
traffic.send({ line: RPC, user: 'ann' });
traffic.handshake('client1', { cookie: 'one' });
traffic.subscribe('client1', '/d2/object/H.A', { cookie: 'one' });
await keeper.save();
/** A small state file. */
const whole = readFileSync(folder.file);
beforeEach(() => writeFileSync(folder.file, whole, { mode: 0o600 }));

/** All bytes of the header and the end of gzip, and every fifth between them. */
const places = Array.from(whole, (_, at) => at).filter((at) => at < 24 || at >= whole.length - 24 || at % 5 === 0);

async function kindOf(bytes: Buffer): Promise<string> {
  writeFileSync(folder.file, bytes, { mode: 0o600 });
  return (await loadState(UNREAD, folder.file, traffic.clock)).kind;
}

/** Takes all records, and keeps none. */
const UNREAD: Savable = {
  applications: ['smartWeb'],
  save: () => [],
  load: async (records) => {
    for await (const _ of records);
  },
};

describe('a state file', () => {
  it('is accepted when it is whole, and torn when it was cut anywhere, or has another one behind its end', async () => {
    expect(await kindOf(whole)).toBe('restored');
    expect(whole.length).toBeGreaterThan(500);
    const kinds = new Set<string>();
    for (const length of places) kinds.add(await kindOf(whole.subarray(0, length)));
    expect([...kinds]).toEqual(['torn']);
    expect(await kindOf(Buffer.concat([whole, whole]))).toBe('torn');
  });

  it('with one changed bit anywhere is refused, unless gzip ignores the bit', async () => {
    const content = gunzipSync(whole);
    for (const at of places) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] as number) ^ (1 << (at % 8));
      const kind = await kindOf(changed);
      // Bits of its head (RFC 1952), and bits before a byte boundary.
      if (kind === 'restored') expect(gunzipSync(changed).equals(content), `byte ${at}`).toBe(true);
      else expect(kind, `byte ${at}`).toMatch(/^(torn|foreign)$/);
    }
  });
});

/** The whole file with `before` replaced by `after` in one of its lines. */
function changed(before: string | RegExp, after: string): Buffer {
  return gzipSync(`${linesOf(whole).join('\n').replace(before, after)}\n`);
}

/** The whole file with other values in its first record of a session. */
function withValue(values: object): Buffer {
  const records = recordsOf(whole);
  Object.assign(records.find(({ record }) => record === 'session') ?? {}, values);
  return encodeRecords(records);
}

const deep = (bracket: string) => bracket.repeat(1e6);

const REFUSED: readonly [string, string, () => Buffer][] = [
  ['is cut', 'torn', () => whole.subarray(0, whole.length - 100)],
  ['is a gzip of something else', 'foreign', () => gzipSync('{"name":"d2000"}\n')],
  ['inflates to more than a record may have', 'foreign', () => gzipSync(Buffer.alloc(33 * 1024 ** 2, 'x'))],
  ['has an older layout', 'older', () => changed('"layout":5', '"layout":4')],
  ['has a newer layout', 'newer', () => changed('"layout":5', '"layout":6')],
  ['has no layout', 'unreadable', () => changed('"layout":5', '"layout":"five"')],
  ['has a count below zero', 'unreadable', () => withValue({ requests: -1 })],
  ['has a line that is no JSON', 'unreadable', () => changed('"record":"session"', '"record":session')],
  ['has a line that is no record', 'unreadable', () => changed(/\{"record":"sba".*/, '"sba"')],
  ['has very deep lists', 'unreadable', () => changed('"tokens":[', `"tokens":[${deep('[')}${deep(']')},`)],
];

describe('a start with a file that', () => {
  it.each(REFUSED)('%s logs the reason, sets the file aside and counts from zero', async (_what, reason, bytes) => {
    writeFileSync(folder.file, bytes());
    const life = await folder.start();
    const aside = `${folder.file}.refused-${reason}`;
    expect(life.keeper.restored).toBe(reason);
    const told = { file: folder.file, reason, setAsideAs: aside, why: expect.any(String), todo: expect.any(String) };
    expect(life.log).toEqual([['warn', expect.objectContaining(told), expect.stringContaining('refused')]]);
    expect(readFileSync(aside).equals(bytes())).toBe(true);
    expect(existsSync(folder.file)).toBe(false);
    expect(life.traffic.counts()).toEqual({});
    expect(life.traffic.gauges()).toEqual({ active: 0, monitored: 0, subscriptions: 0 });
    // And continues with its own file.
    life.traffic.send({ line: RPC });
    const next = await folder.restart(life);
    expect(next.traffic.counts()).toMatchObject({ rpc: 1 });
  });

  it('is of an unconfigured application names it, and that everybody may write is refused', async () => {
    const life = await folder.start(undefined, { applications: ['other'] });
    expect(life.keeper.restored).toBe('foreign');
    expect(String(life.log[0]?.[1].why)).toContain('/smartWeb');
    expect(existsSync(`${folder.file}.refused-foreign`)).toBe(true);
    writeFileSync(folder.file, whole);
    chmodSync(folder.file, 0o666);
    expect((await folder.start()).keeper.restored).toBe('foreign');
  });

  it('has fewer applications than the configuration restores it', async () => {
    const life = await folder.start(undefined, { applications: ['smartWeb', 'other'] });
    expect(life.keeper.restored).toBe('restored');
    expect(life.traffic.counts()).toMatchObject({ rpc: 1 });
  });
});
