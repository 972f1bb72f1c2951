import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { openState } from '../../../src/state/state-file.ts';
import { CometTraffic } from '../../support/measure/record/comet/comet-traffic.ts';
import { RPC } from '../../support/measure/record/traffic.ts';
import { StateFolder } from '../../support/state/restart.ts';
import { recordsOf, toText } from '../../support/state/state-text.ts';

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

const kindOf = (bytes: Buffer) => openState(bytes, ['smartWeb'], new CometTraffic().clock).kind;

/** The whole file with `before` replaced by `after`, and with the checksum of the result. */
function changed(before: string | RegExp, after: string): Buffer {
  const text = whole.toString('utf8', 0, whole.length - 64).replace(before, after);
  return Buffer.from(`${text}${createHash('sha256').update(text).digest('hex')}`);
}

/** The whole file with its first record of a session changed, with the checksum of the result. */
function withSession(change: (session: Record<string, unknown>) => void): Buffer {
  const records = recordsOf(whole.toString('utf8'));
  for (const one of records.filter(({ record }) => record === 'session').slice(0, 1)) change(one);
  return Buffer.from(toText(records));
}

const withValue = (value: object) => withSession((session) => Object.assign(session, value));

describe('a state file', () => {
  it('is accepted when it is whole, and torn when it was cut anywhere, or has more behind its end', () => {
    expect(kindOf(whole)).toBe('state');
    expect(whole.length).toBeGreaterThan(500);
    const kinds = new Set(Array.from({ length: whole.length }, (_, length) => kindOf(whole.subarray(0, length))));
    expect([...kinds]).toEqual(['torn']);
    for (const more of [Buffer.from([0]), whole]) expect(kindOf(Buffer.concat([whole, more]))).toBe('torn');
  });

  it('with one changed bit anywhere is refused', () => {
    const accepted: number[] = [];
    for (let at = 0; at < whole.length; at += 1) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] as number) ^ (1 << (at % 8));
      if (kindOf(changed) === 'state') accepted.push(at);
    }
    expect(accepted).toEqual([]);
  });
});

const deep = (bracket: string) => bracket.repeat(1e6);

const REFUSED: readonly [string, string, () => Buffer][] = [
  ['is cut', 'torn', () => whole.subarray(0, whole.length - 100)],
  ['is empty', 'torn', () => Buffer.alloc(0)],
  ['is something else', 'foreign', () => Buffer.from('[mysqld]\nport=3306\n')],
  ['has an older layout', 'older', () => changed('"layout":4', '"layout":2')],
  ['has a newer layout', 'newer', () => changed('"layout":4', '"layout":5')],
  ['has a count below zero', 'unreadable', () => withValue({ requests: -1 })],
  ['has a text in place of a number', 'unreadable', () => withValue({ atNs: 'x' })],
  ['has a line that is no JSON', 'unreadable', () => changed(',"session",', ',session,')],
  ['has a line that is no record', 'unreadable', () => changed(/\[\d+,"sba".*/, '"sba"')],
  ['has a row of other fields', 'unreadable', () => changed(/\[\d+,"sba".*/, '[1,2,3,4]')],
  ['has a session without an id', 'unreadable', () => withSession((session) => delete session.id)],
  ['has very deep lists', 'unreadable', () => changed(/\[\d+,"sba".*/, `[1,"sba",${deep('[')}${deep(']')}]`)],
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

  it('is a folder leaves it where it is', async () => {
    const there = `${folder.path}/folder`;
    mkdirSync(there);
    const life = await folder.start(undefined, {}, there);
    expect(life.keeper.restored).toBe('unreadable');
    expect(existsSync(there)).toBe(true);
    expect(life.log.map(([level]) => level)).toEqual(['warn', 'warn']);
  });

  it('has fewer applications than the configuration restores it', async () => {
    const life = await folder.start(undefined, { applications: ['smartWeb', 'other'] });
    expect(life.keeper.restored).toBe('restored');
    expect(life.traffic.counts()).toMatchObject({ rpc: 1 });
  });

  it('is missing logs nothing', async () => {
    const life = await folder.start(undefined, {}, `${folder.path}/none`);
    expect(life.keeper.restored).toBe('absent');
    expect(life.log).toEqual([]);
  });
});
