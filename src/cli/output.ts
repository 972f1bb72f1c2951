/** sysexits.h, EX_USAGE: bad configuration or usage. */
export const EXIT_USAGE = 64;
export const EXIT_FAILED = 1;

/** Plain lines for people. Log lines go through logger.ts. */
export interface Output {
  out(text: string): void;
  err(text: string): void;
}

export const processOutput: Output = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
};
