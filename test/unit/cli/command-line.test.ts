import { expect, it } from 'vitest';
import { ConfigError } from '../../../src/base/errors.ts';
import { parseCommandLine } from '../../../src/cli/command-line.ts';
import { HELP } from '../../../src/cli/help.ts';

const parse = (line: string) => parseCommandLine(line === '' ? [] : line.split(' '));

const COMMANDS =
  'check, learn, demo, health, report, drain, reload, shutdown, threads, verdict, note, alerts, silence, history, summary, top, passwd, print, service';
const AT_9280 = { host: '127.0.0.1', port: 9280 };
const UNKNOWN = `unknown command, expected one of ${COMMANDS}, or flags only`;

it.each<[string, unknown]>([
  ['', { kind: 'serve', flags: {} }],
  [
    '--upstream http://a --listen :1 --monitor 2 --config f',
    { kind: 'serve', flags: { upstream: 'http://a', listen: ':1', monitor: '2', config: 'f' } },
  ],
  ['--upstream=http://a', { kind: 'serve', flags: { upstream: 'http://a' } }],
  ['--config f check', { kind: 'check', flags: { config: 'f' }, connects: false }],
  ['check --connect', { kind: 'check', flags: {}, connects: true }],
  ['learn --minutes 0.5 --config f', { kind: 'learn', flags: { config: 'f' }, minutes: 0.5 }],
  ['report --out r --with-users --pid 7', { kind: 'report', flags: { pid: 7 }, file: 'r', includesUsers: true }],
  ['health', { kind: 'health', flags: {}, checksReadiness: false, monitor: undefined }],
  ['health --ready --pid 7', { kind: 'health', flags: { pid: 7 }, checksReadiness: true, monitor: undefined }],
  ['health --monitor :9280', { kind: 'health', flags: { monitor: ':9280' }, checksReadiness: false, monitor: AT_9280 }],
  ['drain --wait 20s --control /run/a.sock', { kind: 'drain', flags: { control: '/run/a.sock' }, waitMs: 20_000 }],
  ['shutdown --pid 7 --config f', { kind: 'shutdown', flags: { pid: 7, config: 'f' } }],
  ['service install --config f', { kind: 'service', flags: { config: 'f' }, action: 'install' }],
  ['note index added', { kind: 'note', flags: {}, text: 'index added' }],
  ['alerts test', { kind: 'alerts', flags: {} }],
  ['silence 2h index build', { kind: 'silence', flags: {}, ms: 7_200_000, text: 'index build' }],
  ['silence off', { kind: 'silence', flags: {}, ms: 0, text: '' }],
  ['history backup f --pid 7', { kind: 'history', flags: { pid: 7 }, file: 'f' }],
  ['summary --since 24h', { kind: 'summary', flags: {}, sinceMs: 86_400_000 }],
  ['print schema', { kind: 'print', flags: {}, name: 'schema' }],
  [
    'passwd --token --role sessions --file t ann.b@plant-1',
    { kind: 'passwd', flags: {}, name: 'ann.b@plant-1', role: 'sessions', isToken: true, file: 't' },
  ],
  ['drain -h', { kind: 'help' }],
])('parseCommandLine reads %j', (line, expected) => {
  expect(parse(line)).toEqual(expected);
});

it.each([
  ['chek', '"chek": unknown command, did you mean check?'],
  ['serve', `"serve": ${UNKNOWN}`],
  ['check file.yaml', 'check: unexpected argument "file.yaml", expected flags only'],
  ['--upstrem x', '"--upstrem": unknown flag, did you mean --upstream?'],
  ['--constructor', '"--constructor": unknown flag, --help lists them all'],
  ['--listen', '--listen: missing value'],
  ['--listen :1 --listen :2', '--listen: given twice, expected once'],
  ['--wait 5s', '--wait: not a flag of d2-sidecar without a command; it belongs to drain'],
  ['health --monitor no', '--monitor: got "no", expected host:port, :port, [v6]:port or a port from 0 to 65535'],
  ['health --monitor :1 --pid 7', '--monitor: cannot be combined with --control, --pid or --config'],
  ['drain --listen :1', '--listen: not a flag of drain; it belongs to d2-sidecar without a command, check, learn'],
  ...['', ' 31d', ' off now', ' soon'].map((rest): [string, string] => [
    `silence${rest}`,
    'silence: expected a time of at most 30d and a text of at most 200 characters, e.g. 2h "index build", or off',
  ]),
  ['note', 'note: got 0 characters, expected a text of 1 to 200, e.g. "index added"'],
  ['summary --since 5m', '--since: got "5m", expected a time of an hour or more such as 24h, 7d or 30d'],
  ['drain --wait soon', '--wait: got "soon", expected a time such as 500ms, 20s, 1m or a number of seconds'],
  ...['0', '-1', 'soon', '1e3', '10081'].map((minutes): [string, string] => [
    `learn --minutes=${minutes}`,
    `--minutes: got "${minutes}", expected a number such as 5 or 0.5, of at most 10080`,
  ]),
  ['drain --pid 0', '--pid: got "0", expected the process id of a running sidecar, a whole number from 1'],
  ['drain --pid 1 --control x', '--control and --pid: got both, expected one of them'],
  ['passwd --role admin ann', '--role: got "admin", expected metrics or sessions'],
  ...['', ' readme', ' schema sample'].map((rest): [string, string] => [
    `print${rest}`,
    `print: got "${rest.trim()}", expected one of sample, schema, licences`,
  ]),
  ['--token=s3cr3t passwd ann', '--token: takes no value'],
  ...['passwd', 'passwd ann s3cr3t', 'passwd ann:s3cr3t'].map((line): [string, string] => [
    line,
    'passwd: expected a name of 1 to 64 of the characters A-Z a-z 0-9 . _ @ -, and nothing else; the password comes from standard input',
  ]),
  ['http://alice:s3cr3t@plant', `"[hidden]@plant": ${UNKNOWN}`],
])('parseCommandLine refuses %j', (line, message) => {
  expect(() => parse(line)).toThrow(new ConfigError(message));
});

it('the help names every flag and command, and fits a terminal', () => {
  const flags = '--upstream --listen --monitor --config --control --pid --wait --help --version'.split(' ');
  for (const word of [...flags, ...COMMANDS.split(', ')]) expect(HELP).toContain(word);
  expect(Math.max(...HELP.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120);
});
