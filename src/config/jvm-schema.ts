/** The keys below `jvm`: where the condition of the Java virtual machine is read. */
import { z } from 'zod';
import {
  authoritiesFile,
  type Conflict,
  describeChoice,
  duration,
  httpUrl,
  NOT_EMPTY,
  oneOf,
  optionalText,
  section,
  serverName,
  yesOrNo,
} from './schema-keys.ts';

const KINDS = ['tomcat-jmxproxy', 'tomcat-status', 'jolokia', 'prometheus', 'wildfly'] as const;

const http = section('restart', 'A source over HTTP, instead of the counters file.', {
  kind: z
    .enum(KINDS, { error: describeChoice(KINDS) })
    .optional()
    .meta({
      description: `Kind of endpoint: ${KINDS.map((kind) => `\`${kind}\``).join(', ')}.`,
      examples: ['tomcat-jmxproxy'],
    }),
  url: httpUrl()
    .optional()
    .meta({ description: 'URL to query; no other is contacted.', examples: ['http://127.0.0.1:8080/manager'] }),
  username: optionalText('a user name', NOT_EMPTY, 'monitor', 'User name for the request.'),
  passwordFile: optionalText(
    'a path',
    NOT_EMPTY,
    '/etc/d2-sidecar/jvm-password',
    'File with the password of that user.',
  ).meta({ hide: 'value' }),
  passwordEnv: optionalText(
    'the name of an environment variable',
    NOT_EMPTY,
    'JVM_PASSWORD',
    'Environment variable with the password, instead of a file.',
  ).meta({ hide: 'value' }),
  serverName: serverName('plant.example', 'the URL'),
  caFile: authoritiesFile('/etc/d2-sidecar/ca.pem'),
}).meta({ hide: 'value' });

export const jvm = section('restart', 'Where the condition of the JVM is read: see [jvm.md](jvm.md).', {
  source: oneOf(
    ['auto', 'hsperfdata', 'http', 'none'],
    'auto',
    '`auto` (`jvm.http` if set, else `hsperfdata`: counters file and attach socket), `hsperfdata`, `http` or `none`.',
  ),
  interval: duration('5s', 'Time between two readings.', { minMs: 1_000 }),
  timeout: duration('2s', 'Longest time that one reading may take.'),
  staleAfter: duration('15s', 'Age at which the last reading is no longer shown.'),
  // Off by default: never signal a process unasked.
  attach: yesOrNo(false, 'Whether a signal may make the JVM open its attach socket.'),
  pid: z
    .int({ error: 'a process id' })
    .min(1, { error: 'a process id' })
    .optional()
    .meta({ description: 'Process id of the JVM, if several match.', examples: [4711] }),
  user: optionalText('a user name', NOT_EMPTY, 'tomcat', "Name of the JVM's user, if several match."),
  http,
}).meta({ hide: 'value' });

type Parsed = z.output<typeof jvm>;

/** Undefined: no source over HTTP. */
export function selectJvmHttp({ kind, url, ...rest }: Parsed['http']) {
  return kind === undefined || url === undefined ? undefined : { kind, url, ...rest };
}

export function findJvmConflicts({ source, http }: Parsed): readonly Conflict[] {
  const { kind, url, username, passwordFile, passwordEnv } = http;
  const conflicts: Conflict[] = [];
  const add = (line: string, ...names: readonly string[]) =>
    conflicts.push({ keys: names.map((name) => `jvm.${name}`), line: `jvm.http.${line}` });
  if ((kind === undefined) !== (url === undefined)) {
    const [missing, other] = kind === undefined ? ['kind', 'url'] : ['url', 'kind'];
    add(`${missing}: missing, required with jvm.http.${other}`, 'http.kind', 'http.url');
  } else if (source === 'http' && url === undefined) {
    add('url: missing, required with jvm.http.kind for jvm.source: http', 'source', 'http');
  }
  if (passwordFile !== undefined && passwordEnv !== undefined) {
    const line = 'passwordEnv: cannot be combined with jvm.http.passwordFile';
    add(line, 'http.passwordFile', 'http.passwordEnv');
  }
  if (username === undefined && (passwordFile ?? passwordEnv) !== undefined) {
    add('username: missing, required with the password', 'http.username');
  }
  return conflicts;
}
