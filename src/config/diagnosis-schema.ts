/** The keys below `diagnosis`: what the sidecar does when a call hangs. */
import type { z } from 'zod';
import { type Conflict, duration, NOT_EMPTY, optionalText, section, wholeNumber } from './schema-keys.ts';

export const diagnosis = section('restart', 'What to do when a call hangs.', {
  threads: section(
    'restart',
    "Automatic thread dumps of the application server's JVM: see [troubleshooting.md](troubleshooting.md#thread-dumps).",
    {
      whenCallRuns: duration(0, 'A dump is taken when a call has run this long. 0: never.', { zero: 'never' }),
      folder: optionalText('the path of a folder', NOT_EMPTY, '/var/lib/d2-sidecar/threads', 'Folder for the dumps.'),
      keep: wholeNumber(
        { min: 1, max: 1_000 },
        20,
        'Number of dumps to keep, of at most 4 MiB each; the oldest is deleted first.',
      ),
      atMostEvery: duration('10m', 'Shortest time between two dumps.', { minMs: 1_000 }),
    },
  ),
});

export function findDiagnosisConflicts({ threads }: z.output<typeof diagnosis>): readonly Conflict[] {
  const keys = ['diagnosis.threads.whenCallRuns', 'diagnosis.threads.folder'];
  if (threads.whenCallRunsMs === 0 || threads.folder !== undefined) return [];
  return [{ keys, line: 'diagnosis.threads.folder: missing, required with diagnosis.threads.whenCallRuns' }];
}
