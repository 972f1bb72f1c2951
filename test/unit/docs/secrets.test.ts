/**
 * No command in the documents contains a token or a password. Typed text stays in the shell's history, and arguments show in the list
 * of processes: secrets go from file to file, or are typed at a prompt.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type Document, listDocuments, type Piece, ROOT } from '../../support/docs/documents.ts';
import { type CommandLine, type SimpleCommand, toCommandLines } from '../../support/docs/shell.ts';

const PROGRAM = /^(?:sudo )?(?:curl|wget|kubectl|helm|docker|openssl|keytool|echo|printf|d2-sidecar|export|\w+\.sh) ./;
const SECRET = '(?:passw(?:or)?d|passphrase|secret|token|api[-_]?key|credentials?)';
const asWord = (pattern: string) => new RegExp(pattern, 'i');

/** `NAME=value`, as a variable, an argument or the value of a flag. A file name is not a value: `--from-file=token`. */
const ASSIGNED = asWord(
  `^(?!--from-file=|-)[\\w.-]*${SECRET}=.|^--(?!from-file)[\\w-]+=[\\w.-]*${SECRET}=.|^--${SECRET}=.`,
);
const SECRET_FLAG = asWord(`^(?:--${SECRET}|-(?:store|key|src|dest)pass)$`);
const SECRET_FILE = asWord(`${SECRET}|users|\\.key\\b`);

/** The fault of one command; undefined if none. */
function faultOfWords({ words, variables }: SimpleCommand): string | undefined {
  const [program = ''] = words[0] === 'sudo' ? words.slice(1) : words;
  const follows = (flags: RegExp, value: RegExp) =>
    words.find((word, i) => flags.test(word) && value.test(words[i + 1] ?? '')) ??
    words.find((word) => flags.test(word.slice(0, 2)) && !word.startsWith('--') && value.test(word.slice(2)));
  // `d2-sidecar passwd --token` makes one.
  const hasFlag = !program.includes('d2-sidecar') && !program.includes('main.js');
  return (
    words.find((word) => /^--from-literal\b/.test(word)) ??
    follows(/^(?:-u|--user|--proxy-user)$/, /^[^\s:]*:./) ??
    follows(/^(?:-H|--header)$/, /^(?:(?:proxy-)?authorization|x-api-key|cookie)\s*:/i) ??
    [...words, ...variables].find((word) => ASSIGNED.test(word)) ??
    (hasFlag ? follows(SECRET_FLAG, /^[^-]/) : undefined) ??
    (/add-user\.sh$/.test(program) ? follows(/^-p$/, /./) : undefined) ??
    words.find(
      (word) =>
        /\bBearer\s+[^\s|]|\bd2s_|^pass:|:\/\/[^/@\s]*:[^/@\s]+@/.test(word) ||
        asWord(`\\$\\{?\\w*${SECRET}\\b|\\$\\((?:cat|<)[^)]*${SECRET}`).test(word),
    )
  );
}

/** A typed secret that another program reads. */
function faultOfTyping({ text, simple }: CommandLine): string | undefined {
  if (/<<</.test(text) && SECRET_FILE.test(text)) return '<<<';
  const types = simple.find(({ words: [program = ''] }) => /^(?:echo|printf)$/.test(program));
  return types !== undefined && SECRET_FILE.test(text.slice(text.indexOf(types.text))) ? types.text : undefined;
}

function faultsOf({ place, text }: Piece): readonly string[] {
  return toCommandLines(text).flatMap((line) =>
    [...line.simple.map(faultOfWords), faultOfTyping(line)]
      .filter((fault) => fault !== undefined)
      .map((fault) => `${place}: ${line.text}: ${fault}`),
  );
}

const inDocument = ({ fences, codes }: Document) => [
  ...fences.filter(({ language }) => language === 'sh'),
  ...codes.filter(({ text }) => PROGRAM.test(text)),
];

/** Commands in comments and texts of the files that people install. */
function inConfig(): readonly Piece[] {
  return readdirSync(path.join(ROOT, 'config'), { recursive: true, encoding: 'utf8' })
    .map((file) => path.posix.join('config', file))
    .filter((file) => statSync(path.join(ROOT, file)).isFile())
    .flatMap((file) =>
      readFileSync(path.join(ROOT, file), 'utf8')
        .split('\n')
        .map((line, index) => ({ place: `${file}:${index + 1}`, text: line.replace(/^[\s#;/*`]+/, '') }))
        .filter(({ text }) => PROGRAM.test(text))
        // Cut off by the end of the line, it cannot be parsed like a shell does.
        .map(({ place, text }) => ({ place, text: text.replace(/\\$/, '') })),
    );
}

it('the commands in the documents and in the comments of config/ contain no token and no password', () => {
  const pieces = listDocuments().flatMap(inDocument);
  expect(pieces.length).toBeGreaterThan(60);
  expect([...pieces, ...inConfig()].flatMap(faultsOf)).toEqual([]);
});

const faultsIn = (text: string) => faultsOf({ place: 'docs/made-up.md:1', text });

it.each([
  'curl --header "Authorization: Bearer $(cat d2-sidecar.token)" http://127.0.0.1:9280/metrics',
  "curl -H 'Authorization: Bearer d2s_x' http://127.0.0.1:9280/metrics",
  'curl -H "X-API-Key: x" http://127.0.0.1:8081/smartWeb',
  'curl -u ann:secret http://127.0.0.1:9280/metrics',
  'curl -uann:secret http://127.0.0.1:9280/metrics',
  'curl http://ann:secret@127.0.0.1:9280/metrics',
  'kubectl create secret generic x --from-file=tokens --from-literal=token=d2s_x',
  'echo secret | d2-sidecar passwd --file users ann',
  "printf '%s' x > jvm-password",
  'd2-sidecar passwd --file users ann <<< secret',
  'JVM_PASSWORD=secret d2-sidecar --config sidecar.yaml',
  'docker run --env=JVM_PASSWORD=secret d2-sidecar',
  'helm install x config/kubernetes/chart --set jvm.password=secret',
  'add-user.sh -u monitor -p secret',
  'openssl rsa -in a.key -passin pass:secret',
  'keytool -list -storepass secret',
  'wget --password secret http://127.0.0.1',
  'curl --config x --oauth2-bearer "$TOKEN" http://127.0.0.1',
])('this test reports %s', (text) => {
  expect(faultsIn(text)).not.toEqual([]);
});

it.each([
  "sed 's|^|Authorization: Bearer |' d2-sidecar.token | curl --header @- http://127.0.0.1:9280/metrics",
  'curl -u ann http://127.0.0.1:9280/metrics',
  'd2-sidecar passwd --token --file tokens prometheus > token',
  'd2-sidecar passwd --role sessions --file /etc/d2-sidecar/users ann < password.txt',
  'kubectl create secret generic x --from-file=tokens --from-file=password=jvm-password',
  'docker run -e D2_SIDECAR_UPSTREAM_URL=http://server:8080/smartWeb d2-sidecar',
  'echo done > /dev/null',
])('this test accepts %s', (text) => {
  expect(faultsIn(text)).toEqual([]);
});
