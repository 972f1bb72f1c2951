import { ConfigError } from './errors.ts';
import type { Logger } from './logger.ts';
import { describeFileError, isReadableByAll, readRegularFile, UntrustedFileError } from './trusted-file.ts';

export interface KeyFileOptions {
  /** The key of the configuration that names the file, e.g. `otlp.headersFile`. */
  readonly key: string;
  readonly file: string;
  readonly maxBytes: number;
  /** Gets one warning for each version of a file that every user can read. Not for files without secrets. */
  readonly logger?: Pick<Logger, 'warn'>;
  /** Makes the error for an unusable file. The message names key and file, and never quotes the content. */
  readonly createError: (message: string) => Error;
}

/** Reads the file anew at each call, so that a renewed secret needs no restart. */
export function createKeyFileReader<T>(
  { key, file, maxBytes, logger, createError }: KeyFileOptions,
  decode: (bytes: Buffer) => T | Promise<T>,
): () => Promise<T> {
  let warnedVersion: string | undefined;
  return async () => {
    try {
      const bytes = await readRegularFile(file, maxBytes, ({ mode, ino, ctimeMs }) => {
        const version = `${ino}:${ctimeMs}`;
        if (!isReadableByAll(mode) || version === warnedVersion) return;
        warnedVersion = version;
        logger?.warn({ file }, `every user of this machine can read the file of ${key}: chmod 0400`);
      });
      return await decode(bytes);
    } catch (cause) {
      if (cause instanceof ConfigError) throw createError(cause.message);
      if (cause instanceof UntrustedFileError)
        throw createError(`The file ${file} (${key}) cannot be used: ${cause.message}.`);
      const reason = describeFileError(cause);
      const advice = reason === 'ENOENT' ? 'create it' : 'let the user of the sidecar read it';
      throw createError(`The file ${file} (${key}) cannot be read (${reason}); ${advice}.`);
    }
  };
}
