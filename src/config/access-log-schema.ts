/** The keys below `accessLog`. */
import { z } from 'zod';
import * as defaults from './defaults.ts';
import { duration, keyForms, section, wholeNumber, yesOrNo } from './schema-keys.ts';

const FILE_FORM =
  'the path of a file, a FIFO or a device such as /var/log/d2-sidecar/access.log; not standard output, which has the program’s own log';
const SHARE_FORM = 'a number from 0 to 1';

export const accessLog = section(
  {
    file: z
      .string({ error: FILE_FORM })
      .regex(/^(?!-$|\/dev\/stdout$).*[^/]$/, { error: FILE_FORM })
      .optional()
      .describe('File that gets a line of JSON for each call. Absent: none is written.')
      .register(keyForms, { form: 'text' }),
    sample: z
      .number({ error: SHARE_FORM })
      .min(0, { error: SHARE_FORM })
      .max(1, { error: SHARE_FORM })
      .prefault(defaults.DEFAULT_ACCESS_LOG_SAMPLE)
      .describe('Share of the calls that get a line, taken at random.')
      .register(keyForms, { form: 'number' }),
    slowerThan: duration(defaults.DEFAULT_ACCESS_LOG_SLOWER_THAN, 'Only calls that took longer get a line.', {
      zero: 'all of them',
    }),
    errorsAlways: yesOrNo(
      defaults.DEFAULT_ACCESS_LOG_ERRORS_ALWAYS,
      'Whether calls of status 500 and above, and those without an answer, get a line whatever sample and slowerThan say.',
    ),
    others: yesOrNo(
      defaults.DEFAULT_ACCESS_LOG_OTHERS,
      'Whether everything else that is proxied gets a line as well, without its path.',
    ),
    users: yesOrNo(
      defaults.DEFAULT_ACCESS_LOG_USERS,
      'Whether lines hold the names of users and the addresses of clients.',
    ),
    maxBytes: wholeNumber(
      { min: 0, max: 1_099_511_627_776 },
      defaults.DEFAULT_ACCESS_LOG_MAX_BYTES,
      'Size from which the file is set aside as file.1, and so on; 0: never, where logrotate does it.',
    ),
    keep: wholeNumber(
      { min: 0, max: 1_000 },
      defaults.DEFAULT_ACCESS_LOG_KEEP,
      'Files set aside that are kept, besides the one that is written.',
    ),
  },
  'A line of JSON for each call, in a file of its own.',
);
