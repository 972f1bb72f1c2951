/** nginx and HAProxy of Debian's packages, each in a process of its own, with everything in a temporary folder. */
import { writeFileSync } from 'node:fs';
import type net from 'node:net';
import { join } from 'node:path';
import { untilListening } from '../bench/load/ports.ts';
import { hasEnded } from '../bench/load/processes.ts';
import { type Defer, temporaryFolder } from './deferred.ts';
import { startProgram } from './running-program.ts';

const NGINX_TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/** `text`: directives in nginx' `http {}`, or HAProxy's after `defaults`. `address`: where it listens once it is ready. */
export async function startProxyProgram(
  defer: Defer,
  program: 'nginx' | 'haproxy',
  text: string,
  address: net.NetConnectOpts,
): Promise<void> {
  const folder = temporaryFolder(defer);
  const config = join(folder, 'config');
  const args =
    program === 'nginx' ? ['-p', folder, '-c', config, '-e', join(folder, 'error.log')] : ['-db', '-f', config];
  writeFileSync(config, program === 'nginx' ? toNginx(folder, text) : toHaproxy(text));
  const { child, output } = startProgram(defer, program, args, { cwd: folder });
  await untilListening(address, () => hasEnded(child)).catch((cause: Error) => {
    throw new Error(`${program}: ${cause.message}:\n${output()}`, { cause });
  });
}

function toNginx(folder: string, http: string): string {
  return `daemon off;
master_process off;
pid ${folder}/pid;
error_log ${folder}/error.log;
events {}
http {
  access_log off;
  ${NGINX_TEMPORARY.map((what) => `${what}_temp_path ${folder}/${what};`).join('\n  ')}
${http}
}
`;
}

function toHaproxy(sections: string): string {
  return `defaults
  timeout connect 5s
  timeout client 20s
  timeout server 20s
${sections}
`;
}
