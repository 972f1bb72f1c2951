import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createServer } from 'node:tls';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { type Authorities, createAuthoritiesReader } from '../../../src/tls/authorities.ts';
import { ListenerTls } from '../../../src/tls/listener-tls.ts';
import { createStandIn, WatchedTls } from '../../../src/tls/watched-tls.ts';
import { untilTestEnds } from '../../support/deferred.ts';
import { listening } from '../../support/net.ts';
import { expectPolls } from '../../support/polls.ts';
import { type Pair, pemOf, textOf } from '../../support/tls/certificates.ts';
import { connected, useCertificates } from '../../support/tls/ends.ts';
import { type LoggedLine, recordingLogger } from '../../support/wire/recording-logger.ts';

const folder = useCertificates();
const authority = folder.authority();
const first = folder.signed(authority, { name: 'first' });
const second = folder.signed(authority, { name: 'second' });
const [FIRST, SECOND] = [textOf(first.certFile), textOf(second.certFile)];

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
    const at = (...names: readonly string[]) => path.join(folder.folder, 'kubernetes', ...names);
    const filesIn = (name: string) => ({ certFile: at(name, 'tls.crt'), keyFile: at(name, 'tls.key') });
    for (const [name, source] of Object.entries({ 1: first, 2: second })) {
      mkdirSync(at(name), { recursive: true });
      put(filesIn(name), source);
    }
    symlinkSync('1', at('..data'));
    await open(filesIn('..data'));
    symlinkSync('2', at('..tmp'));
    renameSync(at('..tmp'), at('..data'));
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
  it('are used and watched from the takeover on, and not undone by a running poll of the earlier files', async () => {
    const next = copyOf(second);
    const apply = await watched.prepareReload(named(next));
    expect(watched.material.options.cert).toBe(FIRST);
    writeFileSync(pair.certFile, `${FIRST}\n`);
    const look = watched.poll();
    apply();
    await look;
    await watched.poll();
    expect([given, watched.material.options.cert, watched.numbers.replaced]).toEqual([[SECOND], SECOND, 1]);
    expect(levels()).not.toContain('error');
    put(next, first);
    await watched.poll();
    expect(given).toEqual([SECOND, FIRST]);
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

it('a stand-in certificate is self-signed and new each time, trusts no client, logs its reason once, has no expiry, and goes when the files can be used', async () => {
  const { logger, logged } = recordingLogger();
  const keyFile = path.join(folder.folder, 'key');
  const config = { certFile: first.certFile, keyFile, clientCaFile: undefined, clientAuth: 'request' } as const;
  const tls = await ListenerTls.open('monitor.tls', config, { clock: systemClock, logger }, WatchedTls.openOrStandIn);
  const { cert, key, ca } = tls.serverOptions(1_000);
  expect(ca).toBe(cert);
  const parsed = new X509Certificate(String(cert));
  expect([parsed.subject, parsed.issuer]).toEqual(Array(2).fill('CN=d2-sidecar without its certificate'));
  expect(parsed.verify(parsed.publicKey)).toBe(true);
  expect(parsed.checkPrivateKey(createPrivateKey(String(key)))).toBe(true);
  expect(Date.parse(parsed.validTo)).toBeGreaterThan(systemClock.epochMs());
  expect(new X509Certificate((await createStandIn(systemClock)).cert).serialNumber).not.toBe(parsed.serialNumber);
  const reason = `monitor.tls.keyFile: ${keyFile} cannot be read: ENOENT`;
  expect(tls.files.trouble?.message).toBe(reason);
  expect(tls.numbers).toMatchObject({ notAfterEpochMs: undefined, unusable: 1, replaced: 0 });
  for (let look = 0; look < 3; look += 1) await tls.files.poll();
  const details = { section: 'monitor.tls', code: 'D2S_ERR_TLS_FILE', reason };
  expect(logged).toEqual([expect.objectContaining({ level: 'error', details })]);
  folder.file('key', 'no key');
  await tls.files.poll();
  expect(tls.files.trouble?.code).toBe('D2S_ERR_CONFIG');
  folder.file('key', textOf(first.keyFile));
  await tls.files.poll();
  expect(tls.files.trouble).toBeUndefined();
  expect(tls.serverOptions(1_000).cert).toBe(textOf(first.certFile));
  expect(tls.numbers).toMatchObject({ notAfterEpochMs: expect.any(Number), replaced: 1 });
});

it('a large bundle of authorities is read in steps, trusted to its last certificate, and parsed again only after a change', async () => {
  const other = textOf(folder.authority('other authority').certFile);
  const bundle = (last: string) => other.repeat(54) + last;
  const file = folder.file('bundle.pem', bundle(textOf(authority.certFile)));
  const readFile = createAuthoritiesReader({ key: 'otlp.caFile', file, createError: (message) => new Error(message) });
  const read = async () => (await readFile()) as Authorities;
  let turns = 0;
  const count = () => {
    turns += 1;
    turning = setImmediate(count);
  };
  let turning = setImmediate(count);
  const first = await read();
  clearImmediate(turning);
  // 55 certificates, ten in a step, once to read and once to trust them.
  expect(turns).toBeGreaterThanOrEqual(10);
  expect(await read()).toBe(first);

  const server = createServer(pemOf(folder.signed(authority, { name: 'localhost' })), (socket) => socket.end());
  const port = await listening(server);
  untilTestEnds(() => server.close());
  const connect = async (secureContext: typeof first.secureContext) =>
    (await connected(port, authority, { servername: 'localhost', secureContext })).destroy();
  await connect(first.secureContext);
  writeFileSync(file, bundle(''));
  const second = await read();
  expect(second).not.toBe(first);
  await expect(connect(second.secureContext)).rejects.toThrow('unable to verify');
  writeFileSync(file, 'none');
  await expect(read()).rejects.toThrow(`otlp.caFile: ${file} holds no certificate`);
});
