/** A real mail server: Debian's exim4, with STARTTLS and a login, which writes each mail into a file. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { untilListening } from '../../../bench/load/ports.ts';
import { hasEnded } from '../../../bench/load/processes.ts';
import { type Defer, temporaryFolder } from '../../deferred.ts';
import { toUnusedPort } from '../../net.ts';
import { isAvailable } from '../../programs.ts';
import { startProgram } from '../../running-program.ts';
import type { Pair } from '../../tls/certificates.ts';

const EXIM = '/usr/sbin/exim4';

/** Only root may choose the file of its configuration. */
export const hasExim = isAvailable('exim, as root', existsSync(EXIM) && process.geteuid?.() === 0);

interface MailServerOptions {
  readonly certificate: Pair;
  readonly user: string;
  readonly password: string;
}

/** Takes mail for example.org only, and from other hosts only after a login by TLS. */
function configOf(folder: string, port: number, { certificate, user, password }: MailServerOptions): string {
  return `
exim_user = root
exim_group = root
never_users =
spool_directory = ${folder}/spool
log_file_path = ${folder}/log-%s
pid_file_path = ${folder}/pid
daemon_smtp_ports = ${port}
local_interfaces = 127.0.0.1
primary_hostname = mail.example.org
tls_advertise_hosts = *
tls_certificate = ${certificate.certFile}
tls_privatekey = ${certificate.keyFile}
auth_advertise_hosts = \${if eq{$tls_in_cipher}{}{}{*}}
acl_smtp_rcpt = check_rcpt
queue_only = false
begin acl
check_rcpt:
  deny message = unknown here
       condition = \${if eq{$local_part}{nobody}}
  accept authenticated = *
  deny message = log in first
begin routers
all:
  driver = accept
  transport = files
begin transports
files:
  driver = appendfile
  directory = ${folder}/mails
  directory_mode = 0755
  maildir_format = true
  batch_max = 20
  # Debian's exim delivers nothing as root.
  user = nobody
  group = nogroup
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_prompts = :
  server_condition = \${if and{{eq{$auth2}{${user}}}{eq{$auth3}{${password}}}}}
  server_set_id = $auth2
`;
}

export async function startMailServer(defer: Defer, options: MailServerOptions) {
  const folder = temporaryFolder(defer);
  mkdirSync(path.join(folder, 'mails'));
  chmodSync(folder, 0o711);
  chmodSync(path.join(folder, 'mails'), 0o777);
  const port = await toUnusedPort();
  const config = path.join(folder, 'exim.conf');
  writeFileSync(config, configOf(folder, port, options));
  // Exim refuses a configuration that others may write.
  chmodSync(config, 0o600);
  const start = async () => {
    const { child, output } = startProgram(defer, EXIM, ['-C', config, '-bdf']);
    await untilListening(port, () => hasEnded(child)).catch((cause: Error) => {
      throw new Error(`exim: ${cause.message}: ${output()}`, { cause });
    });
  };
  const delivered = path.join(folder, 'mails', 'new');
  /** The mails that have arrived, in the order of their arrival. */
  const mails = () =>
    existsSync(delivered)
      ? readdirSync(delivered)
          .sort()
          .map((name) => readFileSync(path.join(delivered, name), 'utf8'))
      : [];
  return { port, start, mails };
}
