import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { initMetrics } from '../../src/metrics/histogram-pool.ts';
import { openState } from '../../src/state/state-format.ts';
import { CometTraffic } from '../measure/record/comet/comet-traffic.ts';
import { RPC } from '../measure/record/traffic.ts';
import { StateFolder } from './restart.ts';

let folder: StateFolder;
/** A small state file. */
let whole: Buffer;

beforeAll(async () => {
  await initMetrics();
  folder = new StateFolder();
  const life = await folder.start();
  life.traffic.send({ line: RPC, user: 'ann' });
  life.traffic.handshake('client1', { cookie: 'one' });
  life.traffic.subscribe('client1', '/d2/object/H.A', { cookie: 'one' });
  await life.keeper.save();
  whole = readFileSync(folder.file);
});

afterAll(() => folder.remove());

beforeEach(() => writeFileSync(folder.file, whole, { mode: 0o600 }));

const kindOf = (bytes: Buffer) => openState(bytes, ['smartWeb'], new CometTraffic().clock).kind;

function withVersion(version: number): Buffer {
  const changed = Buffer.from(whole);
  changed.writeUInt16LE(version, 8);
  return sealed(changed);
}

/** With the checksum of what is in it. */
function sealed(bytes: Buffer): Buffer {
  const end = bytes.length - 32;
  createHash('sha256').update(bytes.subarray(0, end)).digest().copy(bytes, end);
  return bytes;
}

describe('a state file', () => {
  it('is known as whole', () => {
    expect(kindOf(whole)).toBe('state');
    expect(whole.length).toBeGreaterThan(500);
  });

  it('that was cut anywhere is torn', () => {
    const kinds = new Set(Array.from({ length: whole.length }, (_, length) => kindOf(whole.subarray(0, length))));
    expect([...kinds]).toEqual(['torn']);
  });

  it('of which one bit has changed anywhere is refused', () => {
    const accepted: number[] = [];
    for (let at = 0; at < whole.length; at += 1) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] as number) ^ (1 << (at % 8));
      if (kindOf(changed) === 'state') accepted.push(at);
    }
    expect(accepted).toEqual([]);
  });

  it('with something behind it, or twice, is torn', () => {
    expect(kindOf(Buffer.concat([whole, Buffer.from([0])]))).toBe('torn');
    expect(kindOf(Buffer.concat([whole, whole]))).toBe('torn');
  });
});

const REFUSED: readonly [string, string, () => Buffer][] = [
  ['is cut', 'torn', () => whole.subarray(0, whole.length - 100)],
  ['is empty', 'torn', () => Buffer.alloc(0)],
  ['is something else', 'foreign', () => Buffer.from('[mysqld]\nport=3306\n')],
  ['has an older format', 'older', () => withVersion(0)],
  ['has a newer format', 'newer', () => withVersion(3)],
  // A length in the middle, so that a half of it can be read before.
  ['holds what no sidecar wrote', 'unreadable', () => sealed(Buffer.from(whole).fill(0xff, 400, 500))],
];

describe('a start with a file that', () => {
  it.each(REFUSED)('%s says so, puts it aside and counts from zero', async (_what, reason, bytes) => {
    writeFileSync(folder.file, bytes());
    const life = await folder.start();
    const aside = `${folder.file}.refused-${reason}`;
    expect(life.keeper.restored).toBe(reason);
    expect(life.log).toEqual([
      [
        'warn',
        expect.objectContaining({ file: folder.file, reason, setAsideAs: aside }),
        expect.stringContaining('refused'),
      ],
    ]);
    expect(life.log[0]?.[1]).toMatchObject({ why: expect.any(String), todo: expect.any(String) });
    expect(readFileSync(aside).equals(bytes())).toBe(true);
    expect(existsSync(folder.file)).toBe(false);
    expect(life.traffic.counts()).toEqual({});
    expect(life.traffic.gauges()).toEqual({ active: 0, monitored: 0, subscriptions: 0 });
    // And goes on with a file of its own.
    life.traffic.send({ line: RPC });
    const next = await folder.restart(life);
    expect(next.traffic.counts()).toMatchObject({ rpc: 1 });
  });

  it('is of an application that is not configured says which', async () => {
    const life = await folder.start(undefined, { applications: ['other'] });
    expect(life.keeper.restored).toBe('foreign');
    expect(String(life.log[0]?.[1].why)).toContain('/smartWeb');
    expect(existsSync(`${folder.file}.refused-foreign`)).toBe(true);
  });

  it('everybody may write does not trust it', async () => {
    chmodSync(folder.file, 0o666);
    const life = await folder.start();
    expect(life.keeper.restored).toBe('foreign');
  });

  it('is a folder leaves it where it is', async () => {
    const there = `${folder.path}/folder`;
    mkdirSync(there);
    const life = await folder.start(undefined, {}, there);
    expect(life.keeper.restored).toBe('unreadable');
    expect(existsSync(there)).toBe(true);
    expect(life.log.map(([level]) => level)).toEqual(['warn', 'warn']);
  });

  it('knows fewer applications than are configured now takes it up', async () => {
    const life = await folder.start(undefined, { applications: ['smartWeb', 'other'] });
    expect(life.keeper.restored).toBe('restored');
    expect(life.traffic.counts()).toMatchObject({ rpc: 1 });
  });

  it('is not there starts in silence', async () => {
    const life = await folder.start(undefined, {}, `${folder.path}/none`);
    expect(life.keeper.restored).toBe('absent');
    expect(life.log).toEqual([]);
  });
});
