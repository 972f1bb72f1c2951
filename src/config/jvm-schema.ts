/** The keys below `jvm` and `diagnosis`: where the condition of the Java virtual machine is read, and its dumps. */
import { z } from 'zod';
import * as key from './schema-keys.ts';

const KINDS = ['tomcat-jmxproxy', 'tomcat-status', 'jolokia', 'prometheus', 'wildfly'] as const;

const http = key
  .section('restart', 'A source over HTTP, instead of the counters file.', {
    kind: key.optional(
      z.enum(KINDS, { error: key.describeChoice(KINDS) }),
      'tomcat-jmxproxy',
      `Kind of endpoint: ${KINDS.map((kind) => `\`${kind}\``).join(', ')}.`,
    ),
    url: key.optional(key.httpUrl(), 'http://127.0.0.1:8080/manager', 'URL to query; no other is contacted.'),
    username: key.optionalText('a user name', key.NOT_EMPTY, 'monitor', 'User name for the request.'),
    passwordFile: key.hiddenText(
      'a path',
      key.NOT_EMPTY,
      '/etc/d2-sidecar/jvm-password',
      'File with the password of that user.',
    ),
    passwordEnv: key.hiddenText(
      'the name of an environment variable',
      key.NOT_EMPTY,
      'JVM_PASSWORD',
      'Environment variable with the password, instead of a file.',
    ),
    serverName: key.serverName('plant.example', 'the URL'),
    caFile: key.authoritiesFile('/etc/d2-sidecar/ca.pem'),
  })
  .meta({ hide: 'value' });

export const jvm = key
  .section('restart', 'Where the condition of the JVM is read: see [jvm.md](jvm.md).', {
    source: key.oneOf(
      ['auto', 'hsperfdata', 'http', 'none'],
      'auto',
      '`auto` (`jvm.http` if set, else `hsperfdata`: counters file and attach socket), `hsperfdata`, `http` or `none`.',
    ),
    interval: key.duration('5s', 'Time between two readings.', { minMs: 1_000 }),
    timeout: key.duration('2s', 'Longest time that one reading may take.'),
    staleAfter: key.duration('15s', 'Age at which the last reading is no longer shown.'),
    // Off by default: never signal a process unasked.
    attach: key.yesOrNo(false, 'Whether a signal may make the JVM open its attach socket.'),
    pid: key.optional(
      z.int({ error: 'a process id' }).min(1, { error: 'a process id' }),
      4711,
      'Process id of the JVM, if several match.',
    ),
    user: key.optionalText('a user name', key.NOT_EMPTY, 'tomcat', "Name of the JVM's user, if several match."),
    http,
  })
  .meta({ hide: 'value' });

type Parsed = z.output<typeof jvm>;

/** Undefined: no source over HTTP. */
export function selectJvmHttp({ kind, url, ...rest }: Parsed['http']) {
  return kind === undefined || url === undefined ? undefined : { kind, url, ...rest };
}

export function* findJvmConflicts({ source, http }: Parsed): Generator<key.Conflict> {
  const { conflict, missing } = key.conflictsBelow('jvm');
  const { kind, url, username, passwordFile, passwordEnv } = http;
  if (kind === undefined && url !== undefined) yield missing('http.kind', 'http.url');
  else if (kind !== undefined && url === undefined) yield missing('http.url', 'http.kind');
  else if (source === 'http' && url === undefined)
    yield conflict('http.url: missing, required with jvm.http.kind for jvm.source: http', 'source', 'http');
  if (passwordFile !== undefined && passwordEnv !== undefined) {
    const line = 'http.passwordEnv: cannot be combined with jvm.http.passwordFile';
    yield conflict(line, 'http.passwordFile', 'http.passwordEnv');
  }
  if (username === undefined && (passwordFile ?? passwordEnv) !== undefined)
    yield conflict('http.username: missing, required with the password', 'http.username');
}

export const diagnosis = key.section('restart', 'What to do when a call hangs.', {
  threads: key.section(
    'restart',
    "Automatic thread dumps of the application server's JVM: see [troubleshooting.md](troubleshooting.md#thread-dumps).",
    {
      whenCallRuns: key.duration(0, 'A dump is taken when a call has run this long. 0: never.', { zero: 'never' }),
      folder: key.optionalText(
        'the path of a folder',
        key.NOT_EMPTY,
        '/var/lib/d2-sidecar/threads',
        'Folder for the dumps.',
      ),
      keep: key.wholeNumber(
        { min: 1, max: 1_000 },
        20,
        'Dumps to keep, of at most 4 MiB each; the oldest is deleted first.',
      ),
      atMostEvery: key.duration('10m', 'Shortest time between two dumps.', { minMs: 1_000 }),
    },
  ),
});

export function* findDiagnosisConflicts({ threads }: z.output<typeof diagnosis>): Generator<key.Conflict> {
  const { missing } = key.conflictsBelow('diagnosis.threads');
  if (threads.whenCallRunsMs > 0 && threads.folder === undefined) yield missing('folder', 'whenCallRuns');
}
