/** `d2-sidecar passwd`: creates an entry of the users file or the tokens file (monitor/access/access-lines.ts). */

import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { ConfigError } from '../base/errors.ts';
import { putAccessLine } from '../monitor/access/access-file.ts';
import { parseTokens, parseUsers } from '../monitor/access/access-lines.ts';
import {
  createPasswordHash,
  createToken,
  formatPasswordHash,
  formatTokenHash,
  hashToken,
} from '../monitor/access/password-hash.ts';
import { normalizePassword } from '../monitor/access/presented.ts';
import type { FlagsOf } from './command-line.ts';
import type { Output } from './output.ts';

export type PasswdFlags = Omit<FlagsOf<'passwd'>, 'flags'>;

/**
 * Throws ConfigError for an unusable password and for a file with unusable lines; StartError (D2S_ERR_ACCESS_FILE) for
 * a file that cannot be read or written, or that everybody can read.
 */
export async function passwd(flags: PasswdFlags, input: PasswordInput, output: Output): Promise<number> {
  const { name, role, isToken, file } = flags;
  if (isToken) {
    const token = createToken();
    await put(`${name}:${role}:${formatTokenHash(hashToken(token))}`, flags, output);
    // The printed entry may be redirected into the tokens file, so the token goes to standard error.
    if (file === undefined) output.err(`d2-sidecar: the token of ${name}, shown only once: ${token}\n`);
    else output.out(`${token}\n`);
    return 0;
  }
  const password = input.isTTY === true ? await askTwice(name, input, output) : parsePassword(await readLine(input));
  await put(`${name}:${role}:${formatPasswordHash(await createPasswordHash(password))}`, flags, output);
  return 0;
}

async function put(line: string, { name, role, isToken, file }: PasswdFlags, output: Output): Promise<void> {
  if (file === undefined) {
    output.out(`${line}\n`);
    return;
  }
  const parse = isToken ? parseTokens : parseUsers;
  // Also detects a file of the other kind, since its lines do not parse.
  const done = await putAccessLine(file, line, (text) => void parse(text, file));
  output.err(`d2-sidecar: ${name} with the role ${role} ${done} in ${file}\n`);
}

export type PasswordInput = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** Shorter passwords can be guessed; NIST SP 800-63B requires a length only. */
const MIN_CHARACTERS = 8;
const MAX_BYTES = 1024;

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Throws ConfigError, without the input in its message. */
function parsePassword(bytes: Buffer): string {
  const password = normalizePassword(bytes);
  if ([...password].length < MIN_CHARACTERS || bytes.length > MAX_BYTES || /\p{Cc}/u.test(password)) {
    throw new ConfigError(
      `the password must have at least ${MIN_CHARACTERS} characters and at most ${MAX_BYTES} bytes, without control characters, on one line of standard input`,
    );
  }
  return password;
}

/** Reads up to the end of the line, which is not part of the password, or of the input. */
async function readLine(input: PasswordInput): Promise<Buffer> {
  let read = Buffer.alloc(0);
  for await (const chunk of input) {
    read = Buffer.concat([read, Buffer.from(chunk)]);
    if (read.includes(NEWLINE) || read.length > MAX_BYTES) break;
  }
  const end = read.indexOf(NEWLINE);
  const line = end === -1 ? read : read.subarray(0, end);
  return line.at(-1) === RETURN ? line.subarray(0, -1) : line;
}

async function askTwice(name: string, input: PasswordInput, output: Output): Promise<string> {
  // What is typed would be echoed here.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  const lines = terminal[Symbol.asyncIterator]();
  // Without this, Ctrl-C would pause the input. Ctrl-D closes it, too.
  terminal.once('SIGINT', () => terminal.close());
  const ask = async (prompt: string) => {
    output.err(prompt);
    const { value = '', done } = await lines.next();
    output.err('\n');
    if (done === true) throw new ConfigError('cancelled; nothing was changed');
    return parsePassword(Buffer.from(value, 'utf8'));
  };
  try {
    const first = await ask(`Password for ${name}: `);
    if (first !== (await ask('Repeat password: '))) throw new ConfigError('the passwords do not match');
    return first;
  } finally {
    terminal.close();
  }
}
