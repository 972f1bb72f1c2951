/** Reads a password from standard input: the first line; on a terminal, prompts twice with echo off. */

import { ConfigError } from '../base/errors.ts';
import { normalizePassword } from '../monitor/access/presented.ts';
import type { Output } from './output.ts';

export interface PasswordInput extends AsyncIterable<unknown> {
  readonly isTTY?: boolean;
  setRawMode?(isRaw: boolean): unknown;
}

/** Shorter passwords can be guessed; NIST SP 800-63B requires a length only. */
const MIN_CHARACTERS = 8;
const MAX_BYTES = 1024;

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const CTRL_C = 0x03;
const CTRL_D = 0x04;
const CTRL_U = 0x15;
const BACKSPACES: ReadonlySet<number> = new Set([0x08, 0x7f]);

/** Throws ConfigError, without the input in its message. */
export async function readPassword(name: string, input: PasswordInput, output: Output): Promise<string> {
  const bytes = readBytes(input);
  if (input.isTTY !== true || input.setRawMode === undefined) return parsePassword(await readLine(bytes));
  input.setRawMode(true);
  try {
    const first = parsePassword(await prompt(`Password for ${name}: `, bytes, output));
    const again = parsePassword(await prompt('Repeat password: ', bytes, output));
    if (first !== again) throw new ConfigError('the passwords do not match');
    return first;
  } finally {
    input.setRawMode(false);
  }
}

function parsePassword(bytes: readonly number[]): string {
  const password = normalizePassword(Uint8Array.from(bytes));
  if ([...password].length < MIN_CHARACTERS || bytes.length > MAX_BYTES || /\p{Cc}/u.test(password)) {
    throw new ConfigError(
      `the password must have at least ${MIN_CHARACTERS} characters and at most ${MAX_BYTES} bytes, without control characters, on one line of standard input`,
    );
  }
  return password;
}

/** Reads up to the end of the line, which is not part of the password, or of the input. */
async function readLine(bytes: AsyncIterator<number, void>): Promise<readonly number[]> {
  const line: number[] = [];
  while (line.length <= MAX_BYTES + 1) {
    const { value, done } = await bytes.next();
    if (done === true || value === NEWLINE) break;
    line.push(value);
  }
  if (line.at(-1) === RETURN) line.pop();
  return line;
}

/** Handles the keys that a terminal in raw mode leaves to the program. */
async function prompt(text: string, bytes: AsyncIterator<number, void>, output: Output): Promise<readonly number[]> {
  output.err(text);
  const line: number[] = [];
  try {
    for (;;) {
      const { value: byte, done } = await bytes.next();
      if (done === true || byte === NEWLINE || byte === RETURN) return line;
      if (byte === CTRL_C || byte === CTRL_D) throw new ConfigError('cancelled; nothing was changed');
      if (byte === CTRL_U) line.length = 0;
      else if (BACKSPACES.has(byte)) removeCharacter(line);
      else if (line.length <= MAX_BYTES) line.push(byte);
    }
  } finally {
    output.err('\n');
  }
}

/** Removes the last character with all its bytes: in UTF-8, those after the first are 10xxxxxx. */
function removeCharacter(line: number[]): void {
  for (let byte = line.pop(); byte !== undefined && (byte & 0xc0) === 0x80; byte = line.pop());
}

async function* readBytes(input: PasswordInput): AsyncGenerator<number, void> {
  for await (const chunk of input) yield* Buffer.from(chunk as Uint8Array);
}
