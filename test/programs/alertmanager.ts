/** Debian's Alertmanager with the configuration of config/prometheus, and a mail server that keeps what it sends. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { parse, stringify } from 'yaml';
import { type Defer, temporaryFolder } from '../support/deferred.ts';
import { ROOT } from '../support/docs/documents.ts';
import { listening, toUnusedPort } from '../support/net.ts';
import { isAvailable } from '../support/programs.ts';
import { startServer } from '../support/running-program.ts';

const ALERTMANAGER = '/usr/bin/prometheus-alertmanager';
export const ALERTMANAGER_PATH = path.join(ROOT, 'config/prometheus/alertmanager.yml');
export const hasAlertmanager = isAvailable('Alertmanager', existsSync(ALERTMANAGER));

/** Returns its address. `groupWait`: in place of the configured time. */
export async function startAlertmanager(defer: Defer, mailPort: number, groupWait: string): Promise<string> {
  const folder = temporaryFolder(defer);
  const config = parse(readFileSync(ALERTMANAGER_PATH, 'utf8'));
  Object.assign(config.global, { smtp_smarthost: `127.0.0.1:${mailPort}`, smtp_require_tls: false });
  config.route.group_wait = groupWait;
  const file = path.join(folder, 'alertmanager.yml');
  writeFileSync(file, stringify(config));
  const address = `127.0.0.1:${await toUnusedPort()}`;
  const options = [`--config.file=${file}`, `--storage.path=${folder}/data`, `--web.listen-address=${address}`];
  await startServer(defer, `http://${address}/-/ready`, ALERTMANAGER, ...options, '--cluster.listen-address=');
  return address;
}

/** Takes every message (RFC 5321), without TLS. */
export async function startMailbox(defer: Defer) {
  const messages: string[] = [];
  const server = net.createServer((socket) => {
    let text = '';
    let isBody = false;
    socket.on('error', () => undefined);
    socket.write('220 mail.example\r\n');
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      for (;;) {
        const end = isBody ? '\r\n.\r\n' : '\r\n';
        const at = text.indexOf(end);
        if (at < 0) return;
        const line = text.slice(0, at);
        text = text.slice(at + end.length);
        if (isBody) messages.push(decode(line));
        isBody = !isBody && line === 'DATA';
        socket.write(isBody ? '354 go on\r\n' : line === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n');
      }
    });
  });
  defer(() => server.close());
  return { messages, port: await listening(server) };
}

/** Quoted-printable (RFC 2045 section 6.7), of ASCII. */
function decode(message: string): string {
  return message
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
