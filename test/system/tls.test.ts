import https from 'node:https';
import type net from 'node:net';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { listening, portOf } from '../support/net.ts';
import { startSidecarProcess } from '../support/sidecar-process.ts';
import { type Pair, pemOf, textOf } from '../support/tls/certificates.ts';
import { get, useCertificates } from '../support/tls/ends.ts';
import { runProgram } from './secrets/programs.ts';

const folder = useCertificates();
const authority = folder.authority();
const own = folder.signed(authority, { name: 'plant' });
const other = folder.signed(authority, { name: 'other' });
const expired = folder.signed(authority, { name: 'plant', days: -1 });
const upstream = https.createServer(pemOf(own), (request, response) => {
  response.end(`${request.headers['x-forwarded-proto']} ${request.url}`);
});
const upstreamPort = await listening(upstream as unknown as net.Server);

afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
});

const tlsOf = ({ certFile, keyFile }: Pair) => `{ certFile: ${certFile}, keyFile: ${keyFile} }`;

/** The path of a configuration. */
function configOf(listen: Pair): string {
  return folder.file(
    'sidecar.yaml',
    `
upstream: { url: 'https://127.0.0.1:${upstreamPort}/smartWeb', tls: { caFile: ${authority.certFile} } }
listen: { host: 127.0.0.1, port: 0, tls: ${tlsOf(listen)} }
monitor: { port: 0, tls: ${tlsOf(own)} }
`,
  );
}

describe('d2-sidecar with TLS everywhere', () => {
  it('serves clients and the monitoring port, and reaches the upstream', async () => {
    const sidecar = await startSidecarProcess(['--config', configOf(own)]);
    try {
      expect((await get(portOf(sidecar.listen), '/smartWeb/a', { ca: authority })).body).toBe('https /smartWeb/a');
      for (const health of ['/livez', '/readyz', '/startupz']) {
        expect((await get(portOf(sidecar.monitor), health, { ca: authority })).status).toBe(200);
      }
    } finally {
      expect(await sidecar.stop()).toBe(0);
    }
  });

  it.each([[[]], [['check']]])(
    'exits when a key does not match its certificate, or a file is missing: %j',
    async (command) => {
      const wrong = await runProgram([...command, '--config', configOf({ ...own, keyFile: other.keyFile })]);
      expect(wrong.code).toBe(64);
      const reason = `${other.keyFile} does not belong to the certificate in ${own.certFile}`;
      expect(wrong.stderr).toContain(`d2-sidecar: listen.tls.keyFile: ${reason}`);
      for (const line of textOf(other.keyFile).split('\n').slice(1, 3)) expect(wrong.stderr).not.toContain(line);
      const none = path.join(folder.folder, 'none.pem');
      const missing = await runProgram([...command, '--config', configOf({ ...own, certFile: none })]);
      expect(missing.code).toBe(1);
      const unreadable = `D2S_ERR_TLS_FILE: listen.tls.certFile: ${none} cannot be read: ENOENT`;
      expect(missing.stderr).toContain(`d2-sidecar: ${unreadable}`);
    },
  );

  it('checks an expired certificate with a warning, and prints no key', async () => {
    const { code, stdout, stderr } = await runProgram(['check', '--config', configOf(expired)]);
    expect(code).toBe(0);
    expect(stderr).toContain(`d2-sidecar: warning: listen.tls.certFile: ${expired.certFile}: it expired on `);
    expect(stdout).toContain(`certFile: ${expired.certFile}`);
    expect(stdout).not.toContain('PRIVATE');
  });
});
