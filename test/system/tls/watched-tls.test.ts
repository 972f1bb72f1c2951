import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { WatchedTls } from '../../../src/tls/watched-tls.ts';
import { expectPolls } from '../../support/polls.ts';
import { CertificateFolder, type Pair, textOf } from '../../support/tls/certificates.ts';
import { type LoggedLine, recordingLogger } from '../../support/wire/recording-logger.ts';

const folder = new CertificateFolder();
const authority = folder.authority();
const first = folder.signed(authority, { name: 'first' });
const second = folder.signed(authority, { name: 'second' });
const [FIRST, SECOND] = [textOf(first.certFile), textOf(second.certFile)];

afterAll(() => folder.remove());

/** Copies of `first` that a test may change. */
let pair: Pair;
let watched: WatchedTls;
/** Certificates that were replaced. */
let given: (string | undefined)[];
let logged: readonly LoggedLine[];
let count = 0;

beforeEach(async () => {
  pair = copyOf(first);
  await open(pair);
});

function copyOf(source: Pair): Pair {
  count += 1;
  const certFile = path.join(folder.folder, `live-${count}.pem`);
  return put({ certFile, keyFile: `${certFile}.key` }, source);
}

function put(target: Pair, source: Pair): Pair {
  writeFileSync(target.certFile, textOf(source.certFile), { mode: 0o600 });
  writeFileSync(target.keyFile, textOf(source.keyFile), { mode: 0o600 });
  return target;
}

function named(files: Pair) {
  return { section: 'listen.tls', ...files, caFile: undefined, caKey: 'clientCaFile' } as const;
}

async function open(files: Pair): Promise<void> {
  const recording = recordingLogger();
  [given, logged] = [[], recording.logged];
  watched = await WatchedTls.open(named(files), { clock: systemClock, logger: recording.logger });
  watched.onReplaced = ({ cert }) => given.push(cert);
}

const levels = () => logged.map(({ level }) => level);

describe('watched certificate files', () => {
  it('are polled every two seconds between watch and close', () => expectPolls(watched));

  it('are used when they change together, and cause no call when they stay the same', async () => {
    put(pair, first);
    await watched.poll();
    expect([given, watched.numbers.replaced, logged]).toEqual([[], 0, []]);
    put(pair, second);
    await watched.poll();
    expect(given).toEqual([SECOND]);
    expect(watched.material.options.key).toBe(textOf(second.keyFile));
    expect(watched.numbers).toMatchObject({ replaced: 1, unusable: 0 });
  });

  it('are followed through a changing link, as in Kubernetes', async () => {
    const data = path.join(folder.folder, 'kubernetes');
    const filesIn = (name: string) => ({
      certFile: path.join(data, name, 'tls.crt'),
      keyFile: path.join(data, name, 'tls.key'),
    });
    for (const [name, source] of Object.entries({ 1: first, 2: second })) {
      mkdirSync(path.join(data, name), { recursive: true });
      put(filesIn(name), source);
    }
    symlinkSync('1', path.join(data, '..data'));
    symlinkSync('..data/tls.crt', path.join(data, 'tls.crt'));
    symlinkSync('..data/tls.key', path.join(data, 'tls.key'));
    await open(filesIn('.'));
    symlinkSync('2', path.join(data, '..tmp'));
    renameSync(path.join(data, '..tmp'), path.join(data, '..data'));
    await watched.poll();
    expect(given).toEqual([SECOND]);
  });

  it('that mismatch in one poll cause no error', async () => {
    writeFileSync(pair.certFile, SECOND);
    await watched.poll();
    expect([given, logged]).toEqual([[], []]);
    put(pair, second);
    await watched.poll();
    expect([given, levels()]).toEqual([[SECOND], ['info']]);
  });

  it.each([
    ['stay wrong', () => writeFileSync(pair.keyFile, 's3cr3t'), 'keyFile', 'holds no private key'],
    ['are gone', () => renameSync(pair.certFile, `${pair.certFile}.gone`), 'certFile', 'cannot be read: ENOENT'],
  ] as const)('that %s leave the old ones in use, with one line and one count', async (_, spoil, key, why) => {
    spoil();
    for (let look = 0; look < 5; look += 1) await watched.poll();
    expect([given, watched.material.options.cert]).toEqual([[], FIRST]);
    expect(watched.numbers).toMatchObject({ replaced: 0, unusable: 1 });
    const reason = expect.stringContaining(`listen.tls.${key}: ${pair[key]} ${why}`);
    expect(logged).toEqual([expect.objectContaining({ level: 'error', details: { reason } })]);
    expect(JSON.stringify(logged)).not.toContain('s3cr3t');
    put(pair, second);
    await watched.poll();
    expect(given).toEqual([SECOND]);
  });
});

describe('other certificate files', () => {
  it('are used and watched from the takeover on', async () => {
    const next = copyOf(second);
    const apply = await watched.prepareReload(named(next));
    expect(watched.material.options.cert).toBe(FIRST);
    apply();
    expect([given, watched.numbers.replaced]).toEqual([[SECOND], 1]);
    put(next, first);
    await watched.poll();
    expect(given).toEqual([SECOND, FIRST]);
  });

  it('are not undone by a running poll of the earlier files', async () => {
    const apply = await watched.prepareReload(named(copyOf(second)));
    writeFileSync(pair.certFile, `${FIRST}\n`);
    const look = watched.poll();
    apply();
    await look;
    await watched.poll();
    expect([given, watched.material.options.cert]).toEqual([[SECOND], SECOND]);
    expect(levels()).not.toContain('error');
  });

  it('that cannot be used are reported at once, and change nothing, like those with the same content', async () => {
    await expect(watched.prepareReload(named({ ...second, keyFile: first.keyFile }))).rejects.toThrow(
      /does not belong to/,
    );
    const missing = watched.prepareReload(named({ ...second, keyFile: '/none' }));
    await expect(missing).rejects.toMatchObject({ code: 'D2S_ERR_TLS_FILE' });
    (await watched.prepareReload(named(copyOf(first))))();
    expect([given, watched.material.options.cert, watched.numbers.replaced, logged]).toEqual([[], FIRST, 0, []]);
  });
});
