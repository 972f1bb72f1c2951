import { sanitizeLines } from '../base/shown-text.ts';

/** sysexits.h, EX_USAGE: bad configuration or usage. */
export const EXIT_USAGE = 64;
export const EXIT_FAILED = 1;

/** Plain lines for people. Log lines go through logger.ts. */
export interface Output {
  out(text: string): void;
  err(text: string): void;
}

/** Hides control characters: names, paths and reasons come from others. */
export const processOutput: Output = {
  out: (text) => void process.stdout.write(sanitizeLines(text)),
  err: (text) => void process.stderr.write(sanitizeLines(text)),
};

/** For a command that moves the cursor, and makes all other texts harmless itself. */
export const terminalOutput: Output = {
  out: (text) => void process.stdout.write(text),
  err: processOutput.err,
};
