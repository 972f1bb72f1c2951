import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { Logger } from '../../../src/base/logger.ts';
import { WatchedTls } from '../../../src/tls/watched-tls.ts';
import { CertificateFolder, type Pair, textOf } from '../../support/tls/certificates.ts';

const folder = new CertificateFolder();
const authority = folder.authority();
const first = folder.signed(authority, { name: 'first' });
const second = folder.signed(authority, { name: 'second' });

afterAll(() => folder.remove());

let lines: [level: string, details: unknown][];
const logger: Logger = {
  debug: () => undefined,
  info: (details: unknown) => void lines.push(['info', details]),
  warn: (details: unknown) => void lines.push(['warn', details]),
  error: (details: unknown) => void lines.push(['error', details]),
};

beforeEach(() => {
  lines = [];
});

let count = 0;

/** Copies of `first` that may be changed. */
function copies(): Pair {
  count += 1;
  const pair = {
    certFile: path.join(folder.folder, `live-${count}.pem`),
    keyFile: path.join(folder.folder, `live-${count}.key`),
  };
  put(pair, first);
  return pair;
}

function put(target: Pair, source: Pair): void {
  writeFileSync(target.certFile, textOf(source.certFile), { mode: 0o600 });
  writeFileSync(target.keyFile, textOf(source.keyFile), { mode: 0o600 });
}

async function open(pair: Pair) {
  const files = { section: 'listen.tls', ...pair, caFile: undefined, caKey: 'clientCaFile' } as const;
  const timers: { ms: number; run: () => void }[] = [];
  let stopped = 0;
  const every = (ms: number, run: () => void) => {
    timers.push({ ms, run });
    return () => {
      stopped += 1;
    };
  };
  const watched = await WatchedTls.open(files, { clock: systemClock, logger, every });
  const given: (string | undefined)[] = [];
  watched.onReplaced(({ cert }) => given.push(cert));
  return { watched, given, timers, stopped: () => stopped };
}

describe('watched certificate files', () => {
  it('are polled every two seconds between watch and close', async () => {
    const { watched, timers, stopped } = await open(copies());
    expect(timers).toEqual([]);
    watched.watch();
    watched.watch();
    expect(timers.map(({ ms }) => ms)).toEqual([2_000]);
    watched.close();
    expect(stopped()).toBe(1);
  });

  it('that stay the same cause no call', async () => {
    const pair = copies();
    const { watched, given } = await open(pair);
    put(pair, first);
    await watched.poll();
    expect([given, watched.numbers.replaced, lines]).toEqual([[], 0, []]);
  });

  it('that change together are used', async () => {
    const pair = copies();
    const { watched, given } = await open(pair);
    put(pair, second);
    await watched.poll();
    expect(given).toEqual([textOf(second.certFile)]);
    expect(watched.options.key).toBe(textOf(second.keyFile));
    expect(watched.numbers).toMatchObject({ replaced: 1, unusable: 0 });
  });

  it('are followed through a changing link, as in Kubernetes', async () => {
    const data = path.join(folder.folder, 'kubernetes');
    mkdirSync(data);
    for (const [name, source] of [
      ['1', first],
      ['2', second],
    ] as const) {
      mkdirSync(path.join(data, name));
      put({ certFile: path.join(data, name, 'tls.crt'), keyFile: path.join(data, name, 'tls.key') }, source);
    }
    symlinkSync('1', path.join(data, '..data'));
    symlinkSync('..data/tls.crt', path.join(data, 'tls.crt'));
    symlinkSync('..data/tls.key', path.join(data, 'tls.key'));
    const { watched, given } = await open({
      certFile: path.join(data, 'tls.crt'),
      keyFile: path.join(data, 'tls.key'),
    });
    symlinkSync('2', path.join(data, '..tmp'));
    renameSync(path.join(data, '..tmp'), path.join(data, '..data'));
    await watched.poll();
    expect(given).toEqual([textOf(second.certFile)]);
  });

  it('that mismatch in one poll cause no error', async () => {
    const pair = copies();
    const { watched, given } = await open(pair);
    writeFileSync(pair.certFile, textOf(second.certFile));
    await watched.poll();
    expect([given, lines]).toEqual([[], []]);
    put(pair, second);
    await watched.poll();
    expect(given).toEqual([textOf(second.certFile)]);
    expect(lines.map(([level]) => level)).toEqual(['info']);
  });

  it('that stay wrong leave the old ones in use, with one line and one count', async () => {
    const pair = copies();
    const { watched, given } = await open(pair);
    writeFileSync(pair.keyFile, 's3cr3t');
    for (let look = 0; look < 5; look += 1) await watched.poll();
    expect(given).toEqual([]);
    expect(watched.options.cert).toBe(textOf(first.certFile));
    expect(watched.numbers).toMatchObject({ replaced: 0, unusable: 1 });
    expect(lines).toEqual([
      ['error', { reason: expect.stringContaining(`listen.tls.keyFile: ${pair.keyFile} holds no private key`) }],
    ]);
    expect(JSON.stringify(lines)).not.toContain('s3cr3t');
    put(pair, second);
    await watched.poll();
    expect(given).toEqual([textOf(second.certFile)]);
  });

  it('that are gone leave the old ones in use', async () => {
    const pair = copies();
    const { watched } = await open(pair);
    renameSync(pair.certFile, `${pair.certFile}.gone`);
    await watched.poll();
    await watched.poll();
    expect(watched.options.cert).toBe(textOf(first.certFile));
    expect(lines).toEqual([['error', { reason: expect.stringContaining('cannot be read: ENOENT') }]]);
  });
});

describe('other certificate files', () => {
  const named = (pair: Pair) => ({ section: 'listen.tls', ...pair, caFile: undefined, caKey: 'clientCaFile' }) as const;

  it('are used and watched from the takeover on', async () => {
    const { watched, given } = await open(copies());
    const next = copies();
    put(next, second);
    const takeOver = await watched.prepare(named(next));
    expect(watched.options.cert).toBe(textOf(first.certFile));
    takeOver();
    expect([given, watched.numbers.replaced]).toEqual([[textOf(second.certFile)], 1]);
    put(next, first);
    await watched.poll();
    expect(given).toEqual([textOf(second.certFile), textOf(first.certFile)]);
  });

  it('are not undone by a running poll of the earlier files', async () => {
    const pair = copies();
    const { watched, given } = await open(pair);
    const next = copies();
    put(next, second);
    const takeOver = await watched.prepare(named(next));
    writeFileSync(pair.certFile, `${textOf(first.certFile)}\n`);
    const look = watched.poll();
    takeOver();
    await look;
    await watched.poll();
    expect([given, watched.options.cert, lines.filter(([level]) => level === 'error')]).toEqual([
      [textOf(second.certFile)],
      textOf(second.certFile),
      [],
    ]);
  });

  it('that cannot be used are reported at once and change nothing', async () => {
    const { watched, given } = await open(copies());
    await expect(watched.prepare(named({ ...second, keyFile: first.keyFile }))).rejects.toThrow(/does not belong to/);
    await expect(watched.prepare(named({ ...second, keyFile: '/none' }))).rejects.toMatchObject({
      code: 'D2S_ERR_TLS_FILE',
    });
    expect([given, watched.options.cert]).toEqual([[], textOf(first.certFile)]);
  });

  it('with the same content are no change', async () => {
    const { watched, given } = await open(copies());
    (await watched.prepare(named(copies())))();
    expect([given, watched.numbers.replaced, lines]).toEqual([[], 0, []]);
  });
});
