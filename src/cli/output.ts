import { sanitizeLines } from '../base/shown-text.ts';

/** sysexits.h, EX_USAGE: bad configuration or usage. */
export const EXIT_USAGE = 64;
export const EXIT_FAILED = 1;
/** sysexits.h, EX_IOERR. `verdict` has meanings for 1 to 3. */
const EXIT_UNWRITTEN = 74;

/** Plain lines for people. Log lines go through logger.ts. */
export interface Output {
  out(text: string): void;
  err(text: string): void;
}

let hasWritten = false;

/** A reader that leaves early, such as `head`, ends the command, as it ends other programs. */
function onError({ code }: NodeJS.ErrnoException): void {
  if (code === 'EPIPE') process.exit(EXIT_FAILED);
  process.stderr.write(`d2-sidecar: standard output cannot be written: ${code}\n`);
  process.exit(EXIT_UNWRITTEN);
}

function write(text: string): void {
  if (!hasWritten) process.stdout.on('error', onError);
  hasWritten = true;
  process.stdout.write(text);
}

/**
 * Resolves once what a command printed has left this process: a reader such as `less` takes minutes, and
 * `process.exit` drops what a full pipe did not take yet. The log has its own way (LogOutput), which never waits so long.
 */
export async function flushOutput(): Promise<void> {
  if (hasWritten) await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
}

/** Hides control characters: names, paths and reasons come from others. */
export const processOutput: Output = {
  out: (text) => write(sanitizeLines(text)),
  err: (text) => void process.stderr.write(sanitizeLines(text)),
};

/** For a command that moves the cursor, and makes all other texts harmless itself. */
export const terminalOutput: Output = {
  out: write,
  err: processOutput.err,
};
