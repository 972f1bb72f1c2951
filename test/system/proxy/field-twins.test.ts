/**
 * Fields that only the sidecar may write: no name that a server may read as one of them passes, in the head or in the
 * trailers of a request, on either data path; everything else does.
 */
import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { untilTestEnds } from '../../support/deferred.ts';
import { atHeads, OK, startStand } from '../../support/wire/stand.ts';

const CERTIFICATE = {
  rfc9440: ['Client-Cert', 'Client-Cert-Chain'],
  tomcat: ['ssl_client_cert', 'ssl_client_escaped_cert', 'ssl_client_verify', 'ssl_cipher', 'ssl_session_id'],
  off: [],
} as const;
const FORWARDED = ['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host'];
/** What CGI, WSGI, nginx, PHP and others make equal: everything but letters and digits, and the letter case. */
const SEPARATORS = ['-', '_', '.', '~', '!', '+', '|'];

function twinsOf(name: string): readonly string[] {
  const twins = SEPARATORS.map((separator) => name.replace(/[-_]/g, separator));
  return [name.replace(/[-_]/, '.'), ...twins, ...twins.map((twin) => twin.toUpperCase())];
}

const HARMLESS = ['X-Checksum', 'Client-Certs', 'XClient-Cert', 'ClientCert', 'X-Forwarded-Port', 'Client', 'x'];

async function start(config: Partial<Config>) {
  let received = '';
  const stand = await startStand({
    onConnection: (socket) => {
      socket.on('data', (bytes: Buffer) => {
        received += bytes.toString('latin1');
      });
      atHeads(socket, () => undefined);
      socket.on('data', () => {
        if (/(?:^|\n)0\r\n(?:[^\r\n]+\r\n)*\r\n$/.test(received)) socket.write(OK);
      });
    },
    config: () => config,
  });
  untilTestEnds(() => stand.close());
  /** Resolves with what the server received. `pieces` are written one after another. */
  const send = async (pieces: readonly string[]) => {
    received = '';
    const client = await stand.connect();
    client.socket.setNoDelay(true);
    for (const piece of pieces) await new Promise((resolve) => client.socket.write(piece, 'latin1', resolve));
    expect((await client.response()).status).toBe(200);
    client.socket.destroy();
    return received;
  };
  return send;
}

function chunked(fields: string, trailers: string): string {
  return `POST /a HTTP/1.1\r\nHost: plant\r\nTransfer-Encoding: chunked\r\n${fields}\r\n2\r\nab\r\n0\r\n${trailers}\r\n`;
}

const lines = (names: readonly string[], value: string) => names.map((name) => `${name}: ${value}\r\n`).join('');

describe('a chunked request', () => {
  it.each([
    ['rfc9440', 'append'],
    ['tomcat', 'off'],
    ['off', 'replace'],
    ['tomcat', 'replace'],
  ] as const)(
    'no twin of a field of clientCertificate %s and forwarded %s passes',
    async (clientCertificate, forwarded) => {
      const send = await start({ clientCertificate, forwarded });
      const names = [...CERTIFICATE[clientCertificate], ...(forwarded === 'replace' ? FORWARDED : [])];
      const forged = lines(names.flatMap(twinsOf), 'forged');
      const message = chunked(
        forged + lines(HARMLESS, 'kept'),
        lines(HARMLESS, 'first') + forged + lines(HARMLESS, 'last'),
      );
      const received = await send([message]);
      expect(received).not.toContain('forged');
      for (const name of HARMLESS) {
        for (const value of ['kept', 'first', 'last']) expect(received).toContain(`\n${name}: ${value}\r\n`);
      }
      expect(await send([chunked('', '')])).toContain('\r\n2\r\nab\r\n0\r\n\r\n');
    },
  );

  it('all of them pass where the sidecar writes none', async () => {
    const send = await start({ clientCertificate: 'off', forwarded: 'append' });
    const names = [...CERTIFICATE.rfc9440, ...CERTIFICATE.tomcat, ...FORWARDED].flatMap(twinsOf);
    const received = await send([chunked(lines(names, 'own'), lines(names, 'trailer'))]);
    for (const value of ['own', 'trailer']) expect(received.split(`: ${value}`).length - 1).toBe(names.length);
  });
});

it('trailers are removed wherever the client cuts its request, and the next request follows', async () => {
  const send = await start({ clientCertificate: 'rfc9440' });
  const trailers = 'X-A: 1\r\nclient_cert: forged\r\nX-B: 2\r\nClient.Cert.Chain: forged\r\n';
  const message = chunked('', trailers);
  for (let cut = message.indexOf('\r\n0\r\n'); cut < message.length; cut += 1) {
    const received = await send([message.slice(0, cut), message.slice(cut)]);
    expect(received.slice(received.indexOf('\r\n\r\n')), `cut at ${cut}`).toBe(
      '\r\n\r\n2\r\nab\r\n0\r\nX-A: 1\r\nX-B: 2\r\n\r\n',
    );
  }
});
