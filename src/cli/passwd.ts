/** `d2-sidecar passwd`: creates an entry of the users file or the tokens file (monitor/access/access-lines.ts). */
import { putAccessLine } from '../monitor/access/access-file.ts';
import { parseTokens, parseUsers } from '../monitor/access/access-lines.ts';
import { createPasswordHash, formatPasswordHash } from '../monitor/access/password-hash.ts';
import { createToken, formatTokenHash, hashToken } from '../monitor/access/token-hash.ts';
import type { FlagsOf } from './command-line.ts';
import type { Output } from './output.ts';
import { type PasswordInput, readPassword } from './password-input.ts';

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
  const password = await readPassword(name, input, output);
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
