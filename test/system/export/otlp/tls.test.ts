import { readFileSync } from 'node:fs';
import https from 'node:https';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { OtlpReceiver } from '../../../support/export/otlp/otlp-receiver.ts';
import { createPlant } from '../../../support/monitor/prometheus/plant.ts';
import { CertificateFolder } from '../../../support/tls/certificates.ts';
import { createStand, type OtlpStand, otlpConfig } from './stand.ts';

const plant = await createPlant();
const certificates = new CertificateFolder();
const authority = certificates.authority();
const { certFile, keyFile } = certificates.signed(authority, { name: 'receiver' });
const receiver = await OtlpReceiver.listen(
  https.createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }),
);
afterAll(async () => {
  await receiver.close();
  certificates.remove();
});

function start(caFile: string | undefined): OtlpStand {
  const endpoint = `https://127.0.0.1:${receiver.port}`;
  const stand = createStand(otlpConfig({ endpoint, caFile, timeoutMs: 5_000 }), plant);
  onTestFinished(() => stand.otlp.stop(0));
  return stand;
}

it('sends to a receiver whose certificate otlp.caFile has signed', async () => {
  const { otlp } = start(authority.certFile);
  await otlp.flush();
  expect(otlp.signals.get('metrics')?.exports).toEqual({ ok: 1, failed: 0 });
});

it.each([
  ['no authority that Node.js knows', () => undefined],
  ['another authority', () => certificates.authority('another').certFile],
])('sends nothing to one whose certificate is vouched for by %s', async (_what, toCaFile) => {
  const count = receiver.received.length;
  const { otlp, logger } = start(toCaFile());
  await otlp.flush();
  expect(otlp.signals.get('metrics')?.failures.get('tls')).toBe(1);
  expect(logger.lines).toMatchObject([{ reason: 'tls', detail: expect.stringMatching(/^[A-Z_]+$/) }]);
  expect(receiver.received.length).toBe(count);
});

it('reports unreadable authorities, and sends nothing', async () => {
  const { otlp, logger } = start(`${certificates.folder}/none.pem`);
  await otlp.flush();
  const detail = expect.stringMatching(/\(otlp\.caFile\) cannot be read/);
  expect(logger.lines).toMatchObject([{ reason: 'files', detail }]);
});
