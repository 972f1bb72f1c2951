/** A receiver that is unreachable, slow, or refuses: it is counted, each change is logged once, and nothing waits for it. */
import { readFileSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { useFolder } from '../../../support/export/access-log/folder.ts';
import { type Answer, acceptBut, OtlpReceiver, status } from '../../../support/export/otlp/otlp-receiver.ts';
import { createPlant } from '../../../support/monitor/prometheus/plant.ts';
import { toUnusedPort } from '../../../support/net.ts';
import { CertificateFolder } from '../../../support/tls/certificates.ts';
import { createStand, type OtlpConfig, type OtlpStand, otlpConfig } from './stand.ts';

const plant = await createPlant();
let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await OtlpReceiver.listen();
});
afterEach(() => receiver.close());

function start(config: Partial<OtlpConfig> = {}, env: Record<string, string> = {}) {
  const stand = createStand(otlpConfig({ endpoint: receiver.endpoint, ...config }), { ...plant, env });
  onTestFinished(() => stand.otlp.stop(0));
  return stand;
}

/** Pushes `times` with this configuration. */
async function pushed(config: Partial<OtlpConfig> = {}, times = 1): Promise<OtlpStand> {
  const running = start(config);
  for (let push = 0; push < times; push += 1) await running.otlp.flush();
  return running;
}

function numbersOf({ otlp }: OtlpStand) {
  const numbers = otlp.signals.get('metrics');
  if (numbers === undefined) throw new Error('no metrics');
  const reasons = [...numbers.failures].filter(([, count]) => count > 0);
  return { isUp: numbers.isUp, exports: { ...numbers.exports }, items: { ...numbers.items }, reasons };
}

/** The message of each new state. */
const told = ({ logger }: OtlpStand) =>
  logger.lines.map(({ level, reason, message }) => `${level} ${reason ?? message}`);

const answerSlowly: Answer = (response) => {
  response.writeHead(200);
  const timer = setInterval(() => response.write('.'), 10);
  response.socket?.on('close', () => clearInterval(timer));
};

it('a receiver that is away loses what was to be sent, and gets the next push after its return', async () => {
  const { port, endpoint } = receiver;
  await receiver.close();
  // Shorter than the first pause, so it is not tried again within it.
  const running = await pushed({ endpoint, timeoutMs: 500 }, 2);
  const lost = { isUp: false, exports: { ok: 0, failed: 2 }, reasons: [['unreachable', 2]] };
  expect(numbersOf(running)).toMatchObject(lost);
  expect(numbersOf(running).items.lost).toBeGreaterThan(100);
  receiver = await OtlpReceiver.listen(undefined, port);
  await running.otlp.flush();
  expect(numbersOf(running)).toMatchObject({ isUp: true, exports: { ok: 1, failed: 2 } });
  expect(told(running)).toEqual(['warn unreachable', 'info the OTLP receiver accepts metrics again']);
  expect(running.logger.lines[0]).toMatchObject({ code: 'D2S_ERR_OTLP', signal: 'metrics', detail: 'ECONNREFUSED' });
});

it.each([
  [401, 'unauthorized'],
  [302, 'refused'],
])('a receiver that answers %i fails as %s, and nothing of its words is shown', async (code, reason) => {
  // A refusal in a content coding is known by its status.
  receiver.answer = status(code, {
    location: 'http://127.0.0.1:1/',
    ...(code === 401 && { 'content-encoding': 'br' }),
  });
  const running = await pushed();
  expect(numbersOf(running)).toMatchObject({ isUp: false, exports: { ok: 0, failed: 1 }, reasons: [[reason, 1]] });
  expect(running.logger.lines).toMatchObject([{ reason, status: code }]);
  expect(JSON.stringify(running.logger.lines)).not.toContain('s3cr3t');
  expect(receiver.received).toHaveLength(1);
});

it('a receiver that is busy for a moment gets a retry within the time of the request', async () => {
  let answers = 0;
  receiver.answer = (response, request) => {
    answers += 1;
    if (answers === 1) status(503, { 'retry-after': '-1' })(response, request);
    else response.end();
  };
  const running = await pushed();
  expect(numbersOf(running)).toMatchObject({ isUp: true, exports: { ok: 1, failed: 0 } });
  expect(answers).toBe(2);
});

it.each<[string, string, Partial<OtlpConfig>, Answer]>([
  ['stays busy until the time of the request is over', 'unavailable', {}, status(429, { 'retry-after': '30' })],
  ['dies during its answer', 'unreachable', { timeoutMs: 800 }, (response) => response.socket?.destroy()],
  ['answers byte by byte', 'timeout', { timeoutMs: 100 }, answerSlowly],
  ['does not speak HTTP', 'unreachable', {}, (response) => response.socket?.end('220 mail.example ESMTP\r\n')],
])('a receiver that %s fails as %s, and is disconnected', async (_what, reason, config, answer) => {
  const closed = new Promise((resolve) => {
    receiver.answer = (response, request) => {
      response.socket?.on('close', resolve);
      answer(response, request);
    };
  });
  const running = await pushed(config);
  expect(numbersOf(running)).toMatchObject({ exports: { ok: 0, failed: 1 }, reasons: [[reason, 1]] });
  if (reason !== 'unavailable') await closed;
});

it.each([
  ['br', brotliCompressSync],
  ['GZip', gzipSync],
])('a receiver that answers in %s instead of identity is refused, and nothing is decoded', async (coding, encode) => {
  receiver.answer = (response) =>
    response.writeHead(200, { 'content-encoding': coding }).end(encode(Buffer.from('s3cr3t')));
  const running = await pushed({}, 2);
  expect(numbersOf(running)).toMatchObject({ isUp: false, exports: { ok: 0, failed: 2 }, reasons: [['refused', 2]] });
  const detail = 'it answered with a Content-Encoding, where identity was asked for; switch compression off there';
  expect(running.logger.lines).toMatchObject([{ level: 'warn', reason: 'refused', detail }]);
  expect(receiver.received.map(({ headers }) => headers['accept-encoding'])).toEqual(['identity', 'identity']);
  receiver.answer = (response) => response.writeHead(200, { 'content-encoding': 'identity' }).end();
  await running.otlp.flush();
  expect(numbersOf(running)).toMatchObject({ isUp: true, exports: { ok: 1 } });
});

it('a receiver that rejects a part is logged once, and the part is counted', async () => {
  receiver.answer = acceptBut(3, 's3cr3t');
  const running = await pushed({}, 2);
  const { items, ...rest } = numbersOf(running);
  expect(rest).toMatchObject({ isUp: true, exports: { ok: 2, failed: 0 }, reasons: [] });
  expect(items.rejected).toBe(6);
  expect(items.accepted + items.rejected).toBe(receiver.metrics.reduce((sum, { points }) => sum + points.length, 0));
  expect(told(running)).toEqual(['warn the OTLP receiver rejects metrics']);
  expect(running.logger.lines[0]).toMatchObject({ rejected: 3 });
  expect(JSON.stringify(running.logger.lines)).not.toContain('s3cr3t');
});

const at = useFolder();
const write = (text: string) => writeFileSync(at('fields'), text, { mode: 0o600 });

it('header fields are read from the file for each request, so that a new credential applies at once', async () => {
  write('# for the receiver\nAuthorization: Bearer one\r\n\nX-Scope-OrgID: plant\n');
  const running = await pushed({ headersFile: at('fields') });
  write('Authorization: Bearer two\n');
  await running.otlp.flush();
  expect(receiver.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer one', 'Bearer two']);
  expect(receiver.received[0]?.headers['x-scope-orgid']).toBe('plant');
  expect(JSON.stringify(running.logger.lines)).not.toContain('Bearer');
});

it('header fields come from a variable as well, but never from those of other programs', async () => {
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'authorization=s3cr3t');
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${await toUnusedPort()}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  await start({ headersEnv: 'FIELDS' }, { FIELDS: 'api-key: k1\nother: 2' }).otlp.flush();
  expect(receiver.received).toHaveLength(1);
  expect(receiver.received[0]?.headers).toMatchObject({ 'api-key': 'k1', other: '2' });
  expect(receiver.received[0]?.headers.authorization).toBeUndefined();
});

it.each([
  ['no such file', undefined, /fields \(otlp\.headersFile\) cannot be read \(ENOENT\); create it\.$/],
  ['a coding that would have to be decoded', 'accept-encoding: br\n', /^Line 1 of .* sets accept-encoding, which the /],
  ['a field of the sidecar’s own', 'x: 1\nHost: s3cr3t\n', /^Line 2 of .* sets Host, which the sidecar sets itself/],
  ['a character that ends the line', 'x: s3cr3t\x01\n', /^Line 1 of .* is not a header field/],
  ['a folder', '', /cannot be used: it is a folder, expected a regular file\.$/],
])('header fields that cannot be used are reported without their values: %s', async (what, text, detail) => {
  if (text !== undefined && text !== '') write(text);
  const running = await pushed({ headersFile: at(what === 'a folder' ? '' : 'fields') }, 2);
  expect(numbersOf(running)).toMatchObject({ isUp: false, exports: { ok: 0, failed: 2 }, reasons: [['files', 2]] });
  const line = { level: 'warn', reason: 'files', detail: expect.stringMatching(detail) };
  expect(running.logger.lines).toMatchObject([line]);
  expect(JSON.stringify(running.logger.lines)).not.toContain('s3cr3t');
  expect(receiver.received).toHaveLength(0);
});

describe('TLS', () => {
  const certificates = new CertificateFolder();
  const authority = certificates.authority();
  const own = certificates.signed(authority, { name: 'receiver' });
  afterAll(() => certificates.remove());
  beforeEach(async () => {
    await receiver.close();
    const [cert, key] = [own.certFile, own.keyFile].map((file) => readFileSync(file));
    receiver = await OtlpReceiver.listen(https.createServer({ cert, key }));
  });
  const secure = (caFile: string) => pushed({ endpoint: `https://127.0.0.1:${receiver.port}`, caFile });

  it('sends to a receiver whose certificate otlp.caFile has signed', async () => {
    expect(numbersOf(await secure(authority.certFile)).exports).toEqual({ ok: 1, failed: 0 });
  });

  it.each([
    ['another authority', () => certificates.authority('another').certFile, 'tls', /^[A-Z_]+$/],
    ['an unreadable authority', () => `${certificates.folder}/none`, 'files', /\(otlp\.caFile\) cannot be read/],
  ])('sends nothing to one whose certificate is vouched for by %s', async (_what, toCaFile, reason, detail) => {
    const running = await secure(toCaFile());
    expect(numbersOf(running).reasons).toEqual([[reason, 1]]);
    expect(running.logger.lines).toMatchObject([{ reason, detail: expect.stringMatching(detail) }]);
    expect(receiver.received).toHaveLength(0);
  });
});

it('a receiver that fails does not get the rest of a push', async () => {
  for (let i = 0; i < 800; i += 1) plant.statistics.rpc.recordAnswered(`E.Method${i}`, 200, 1e6);
  receiver.answer = status(400);
  const running = await pushed();
  expect(receiver.received).toHaveLength(1);
  expect(numbersOf(running)).toMatchObject({ exports: { ok: 0, failed: 1 } });
  expect(numbersOf(running).items.lost).toBeGreaterThan(3_000);
});
