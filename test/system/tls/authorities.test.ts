/** A large bundle of authorities is read in steps, and all of it counts. */
import { writeFileSync } from 'node:fs';
import { createServer, connect as tlsConnect } from 'node:tls';
import { afterAll, expect, it } from 'vitest';
import { type Authorities, createAuthoritiesReader } from '../../../src/tls/authorities.ts';
import { listening } from '../../support/net.ts';
import { CertificateFolder, pemOf, textOf } from '../../support/tls/certificates.ts';

const folder = new CertificateFolder();
afterAll(() => folder.remove());

const authority = folder.authority();
const other = textOf(folder.authority('other authority').certFile);
const bundle = (last: string) => other.repeat(54) + last;

it('a bundle is read in steps, trusted to its last certificate, and parsed again only after a change', async () => {
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
  const connect = async (secureContext: typeof first.secureContext) => {
    const socket = tlsConnect({ host: '127.0.0.1', port, servername: 'localhost', secureContext });
    try {
      await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    } finally {
      socket.destroy();
    }
  };
  try {
    await connect(first.secureContext);
    writeFileSync(file, bundle(''));
    const second = await read();
    expect(second).not.toBe(first);
    await expect(connect(second.secureContext)).rejects.toThrow('unable to verify');
    writeFileSync(file, 'none');
    await expect(read()).rejects.toThrow(`otlp.caFile: ${file} holds no certificate`);
  } finally {
    server.close();
  }
});
