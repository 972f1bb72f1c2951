import https from 'node:https';
import type net from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { untilTestEnds } from '../support/deferred.ts';
import { listening, portOf } from '../support/net.ts';
import { startSidecarProcess } from '../support/sidecar-process.ts';
import { type Pair, pemOf, textOf } from '../support/tls/certificates.ts';
import { get, useCertificates } from '../support/tls/ends.ts';
import { runProgram } from './secrets/programs.ts';

const folder = useCertificates();
const authority = folder.authority();
const own = folder.signed(authority, { name: 'plant' });
const other = folder.signed(authority, { name: 'other' });
const upstream = https.createServer(pemOf(own), (request, response) => {
  response.end(`${request.headers['x-forwarded-proto']} ${request.url}`);
});
const upstreamPort = await listening(upstream as unknown as net.Server);

afterAll(() => {
  upstream.close();
  upstream.closeAllConnections();
});

const tlsOf = ({ certFile, keyFile }: Pair) => ({ certFile, keyFile });

/** The path of a configuration. */
function configOf(pair: Pair): string {
  const upstream = { url: `https://127.0.0.1:${upstreamPort}/smartWeb`, tls: { caFile: authority.certFile } };
  const listen = { host: '127.0.0.1', port: 0, tls: tlsOf(pair) };
  // JSON is YAML.
  return folder.file('sidecar.yaml', JSON.stringify({ upstream, listen, monitor: { port: 0, tls: tlsOf(own) } }));
}

describe('d2-sidecar with TLS everywhere', () => {
  it('serves clients and the monitoring port, and reaches the upstream', async () => {
    const sidecar = await startSidecarProcess(['--config', configOf(own)]);
    untilTestEnds(() => sidecar.stop('SIGKILL'));
    expect((await get(portOf(sidecar.listen), '/smartWeb/a', { ca: authority })).body).toBe('https /smartWeb/a');
    expect((await get(portOf(sidecar.monitor), '/readyz', { ca: authority })).status).toBe(200);
    expect(await sidecar.stop()).toBe(0);
  });

  it.each([[[]], [['check']]])(
    'exits when a key does not match its certificate, or a file is missing, and prints no key: %j',
    async (command) => {
      const wrong = await runProgram([...command, '--config', configOf({ ...own, keyFile: other.keyFile })]);
      expect(wrong.code).toBe(64);
      const reason = `${other.keyFile} does not belong to the certificate in ${own.certFile}`;
      expect(wrong.stderr).toContain(`d2-sidecar: listen.tls.keyFile: ${reason}`);
      for (const line of textOf(other.keyFile).split('\n').slice(1, 3)) expect(wrong.output).not.toContain(line);
      const none = `${folder.folder}/none.pem`;
      const missing = await runProgram([...command, '--config', configOf({ ...own, certFile: none })]);
      expect(missing.code).toBe(1);
      expect(missing.stderr).toContain(`D2S_ERR_TLS_FILE: listen.tls.certFile: ${none} cannot be read: ENOENT`);
    },
  );
});
