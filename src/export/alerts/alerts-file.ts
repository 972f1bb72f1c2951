/** What outlives a restart, in a file of JSON: open episodes, messages that wait, the silence. */
import { z } from 'zod';
import { ignoreAbsent, readRegularFile } from '../../base/trusted-file.ts';
import { writeAside } from '../../base/write-aside.ts';
import { ALERT_SUBJECTS } from './message.ts';

const FILE = 'd2-sidecar alerts';
const LAYOUT = 1;
const MAX_BYTES = 16 * 1024 * 1024;

const TEXT = z.string().max(4_096);
const NAME = TEXT.nullable();
const SUBJECT = z.enum(ALERT_SUBJECTS);

const MESSAGE = z.object({
  ...{ id: TEXT, event: z.enum(['begins', 'ends', 'test']), application: TEXT, subject: SUBJECT, code: TEXT },
  ...{ name: NAME, text: TEXT, since: TEXT, until: NAME, url: z.string().max(16_384) },
});
const EPISODE = z.object({
  ...{ id: TEXT, application: TEXT, subject: SUBJECT, code: TEXT, kind: NAME, name: NAME, text: TEXT },
  ...{ sinceEpochMs: z.number(), untilEpochMs: z.number().optional(), isTold: z.boolean() },
});
const SAVED = z.object({
  file: z.literal(FILE),
  layout: z.literal(LAYOUT),
  episodes: z.array(EPISODE),
  waiting: z.object({ webhook: z.array(MESSAGE).optional(), mail: z.array(MESSAGE).optional() }),
  silence: z.object({ untilEpochMs: z.number(), text: TEXT }).nullable(),
  /** Messages that may still be sent at once, at `epochMs`. */
  room: z.object({ messages: z.number(), epochMs: z.number() }),
  /** Changes that nobody was told of, and since when. */
  untold: z.object({ limit: z.number(), silence: z.number() }),
});

export type SavedAlerts = Omit<z.infer<typeof SAVED>, 'file' | 'layout'>;
export type SavedEpisode = z.infer<typeof EPISODE>;

/** Undefined without a file. Rejects for one that cannot be read, or is of another program or version. */
export async function readAlertsFile(file: string): Promise<SavedAlerts | undefined> {
  const bytes = await readRegularFile(file, MAX_BYTES).catch(ignoreAbsent);
  return bytes && SAVED.parse(JSON.parse(bytes.toString('utf8')));
}

/** After a crash the old or the new content is there. */
export async function writeAlertsFile(file: string, saved: SavedAlerts): Promise<void> {
  const text = JSON.stringify({ file: FILE, layout: LAYOUT, ...saved });
  await writeAside(file, async (handle) => void (await handle.writeFile(text)));
}
