import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { MAIN, type Settings } from '../../support/load/sidecar.ts';
import { CertificateFolder } from '../../support/tls/certificates.ts';
import type { Flood } from '../floods/flood.ts';
import * as plant from '../plant.ts';

/** Timeouts are short, so that a run sees clients ended that only these limits end. All other limits are the defaults. */
export function settingsOf(
  folder: string,
  { setting, clientAddress }: Pick<Flood, 'setting' | 'clientAddress'>,
): Settings {
  const trustedProxies = [plant.ATTACKER_ADDRESS, '10.0.0.0/8', 'fd00::/8'];
  const isTls = setting === 'tls' || setting === 'pkcs12';
  return {
    listen: {
      ...(isTls && { tls: writeCertificate(folder, setting === 'pkcs12') }),
      ...(clientAddress && { trustedProxies, clientAddress }),
    },
    ...(clientAddress && { rest: { deny: ['/manager/html', '/a/b'] } }),
    ...(setting === 'monitor' && { monitor: { auth: { usersFile: writeUsers(folder) } } }),
    stop: { delay: '0s', window: '0s', deadline: '1s' },
    timeouts: { halfClosed: '3s', idle: '5s' },
  };
}

/** With `isPkcs12`, a file that is quickly read, and two that replace it in turn. */
function writeCertificate(folder: string, isPkcs12: boolean): object {
  const certificates = new CertificateFolder(folder);
  const pair = certificates.signed(certificates.authority(), { name: 'plant' });
  if (!isPkcs12) return pair;
  const file = (name: string) => path.join(folder, name);
  writeFileSync(file('passphrase'), 'secret');
  for (const name of [plant.PFX_FILE, ...plant.RENEWED_PFX_FILES]) {
    const iterations = name === plant.PFX_FILE ? '2048' : '600000';
    const options = ['-passout', 'pass:secret', '-iter', iterations, '-out', file(name)];
    run('openssl', ['pkcs12', '-export', '-in', pair.certFile, '-inkey', pair.keyFile, ...options]);
  }
  return { pfxFile: file(plant.PFX_FILE), passphraseFile: file('passphrase') };
}

function writeUsers(folder: string): string {
  const line = run(process.execPath, [MAIN, 'passwd', 'reader'], `${plant.MONITOR_PASSWORD}\n`);
  const rest = line.trim().slice('reader'.length);
  const file = path.join(folder, 'users');
  writeFileSync(file, plant.MONITOR_READERS.map((name) => `${name}${rest}\n`).join(''), { mode: 0o600 });
  return file;
}

function run(program: string, args: readonly string[], input = ''): string {
  const { stdout, stderr, status, error } = spawnSync(program, args, { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args[0]}: ${error?.message ?? stderr}`);
  return stdout;
}
