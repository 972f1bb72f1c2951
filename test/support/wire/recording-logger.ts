import type { Logger } from '../../../src/base/logger.ts';

export interface LoggedLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly details: Readonly<Record<string, unknown>>;
  readonly message: string | undefined;
}

export interface RecordingLogger {
  readonly logger: Logger;
  readonly logged: readonly LoggedLine[];
}

export function recordingLogger(): RecordingLogger {
  const logged: LoggedLine[] = [];
  const log = (level: LoggedLine['level']) => (details: unknown, message?: string) =>
    void logged.push({ level, details: details as LoggedLine['details'], message });
  return { logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') }, logged };
}
