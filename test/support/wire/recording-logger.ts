import type { Logger } from '../../../src/base/logger.ts';

export interface LoggedLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly details: Readonly<Record<string, unknown>>;
  readonly message: string | undefined;
}

export type RecordingLogger = ReturnType<typeof recordingLogger>;

export function recordingLogger() {
  const logged: LoggedLine[] = [];
  const log = (level: LoggedLine['level']) => (details: unknown, message?: string) =>
    void logged.push({ level, details: details as LoggedLine['details'], message });
  const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  return { logger, logged: logged as readonly LoggedLine[] };
}
