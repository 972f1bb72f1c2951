/** The keys below `jvm`: where the condition of the Java virtual machine is read. */
import { z } from 'zod';
import * as defaults from './defaults.ts';
import { duration, keyForms, oneOf, parsedText, section, yesOrNo } from './schema-keys.ts';
import type { Parsed } from './upstream-url.ts';

const KINDS = ['tomcat-jmxproxy', 'tomcat-status', 'jolokia', 'prometheus', 'wildfly'] as const;
const KIND_FORM = `one of ${KINDS.join(', ')}`;
const URL_FORM = 'http://host[:port][/path] or https://…, without user, query or fragment';

function optionalText(form: string, description: string) {
  return z
    .string({ error: form })
    .min(1, { error: form })
    .optional()
    .describe(description)
    .register(keyForms, { form: 'text' });
}

/** Never repeats the input, which may hold a password. */
function parseSourceUrl(text: string): Parsed<string> {
  const isPlain = /^https?:\/\/[^/\\@?#\s]+(?:\/[^\\@?#\s]*)?$/i.test(text) && URL.canParse(text);
  return isPlain ? { kind: 'ok', value: new URL(text).href } : { kind: 'bad', expected: URL_FORM };
}

const http = section(
  {
    kind: z
      .enum(KINDS, { error: KIND_FORM })
      .optional()
      .describe(`What answers there: ${KINDS.join(', ')}.`)
      .register(keyForms, { form: 'text' }),
    url: parsedText(parseSourceUrl, URL_FORM)
      .optional()
      .describe('The one address that is asked, such as http://127.0.0.1:8080/manager.')
      .register(keyForms, { form: 'text' }),
    username: optionalText('a user name', 'User to ask as.'),
    passwordFile: optionalText('a path', 'File with the password of that user.'),
    passwordEnv: optionalText('the name of an environment variable', 'Environment variable with the password.'),
    serverName: optionalText(
      'a host name',
      'The name that the certificate there must hold, if it is not that of the address.',
    ),
    caFile: optionalText('a path', 'PEM file with the authorities that sign the certificate there.'),
  },
  'A source over HTTP, instead of the counters file.',
);

export const jvm = section(
  {
    source: oneOf(
      ['auto', 'hsperfdata', 'http', 'none'],
      defaults.DEFAULT_JVM_SOURCE,
      'auto reads jvm.http where it is set, else the counters file of the JVM (hsperfdata) with its attach socket over it.',
    ),
    interval: duration(defaults.DEFAULT_JVM_INTERVAL, 'Between two readings.', { minMs: 1_000 }),
    timeout: duration(defaults.DEFAULT_JVM_TIMEOUT, 'What one reading may take.'),
    staleAfter: duration(defaults.DEFAULT_JVM_STALE_AFTER, 'Age from which the last reading is no longer shown.'),
    attach: yesOrNo(
      defaults.DEFAULT_JVM_ATTACH,
      'Whether the JVM may be asked, by a signal, to open its attach socket where there is none.',
    ),
    pid: z
      .int({ error: 'a process id' })
      .min(1, { error: 'a process id' })
      .optional()
      .describe('Process id of the JVM, where more than one could be meant.')
      .register(keyForms, { form: 'number' }),
    user: optionalText('a user name', 'Name of the user that the JVM runs as, where more than one could be meant.'),
    http,
  },
  'Where the condition of the JVM is read.',
);
