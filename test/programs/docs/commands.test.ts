/**
 * Every command in the documents: each line of blocks marked `sh`. command-table.ts says how it is tested. Commands of the sidecar, curl
 * and the like are run, in a sandbox (sandbox.ts) with a real sidecar in front of a sample control system.
 *
 * The commands before a block of `json` or `text` must print its content, except for numbers, times and names (shape.ts). A
 * block of `yaml` with a whole configuration is read by `d2-sidecar check`, and later commands find it as sidecar.yaml.
 *
 * Commands of `kubectl exec` are run as well, beside the sidecar of the sandbox.
 *
 * Commands in backticks within sentences are checked in the same way, but not run. D2S_LIST_COMMANDS=1 prints how each is tested.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { type Document, listDocuments, parseDocument } from '../../support/docs/documents.ts';
import { faultOfShown } from '../../support/docs/shape.ts';
import { faultsOf, has, isRunnable, runDocument, type Step, stepsInSentences, stepsOf } from './run-document.ts';

const SLOW_MS = 300_000;
const documents = listDocuments();

const report: string[] = [];
afterAll(() => {
  if (process.env.D2S_LIST_COMMANDS !== undefined) process.stdout.write(`${[...new Set(report)].sort().join('\n')}\n`);
});

const check = (steps: readonly Step[]) => steps.flatMap((step) => faultsOf(step, report));
const hasWork = (document: Document) =>
  stepsOf(document).some(isRunnable) ||
  document.fences.some(({ language, text }) => language === 'yaml' && /^upstream:/m.test(text));

describe('the commands in the documents', () => {
  it('are all known, and correct as far as can be seen without running them', () => {
    const steps = documents.flatMap(stepsOf);
    expect(check(steps)).toEqual([]);
    expect(steps.filter(isRunnable).length).toBeGreaterThan(15);
  });

  it('are known within sentences, too', () => {
    expect(check(documents.flatMap(stepsInSentences))).toEqual([]);
  });

  const runnable = documents.filter(hasWork).map((document) => [document.file, document] as const);

  it.each(runnable)('do what the text says, in %s', { timeout: SLOW_MS }, async (_, document) => {
    expect(await runDocument(document)).toEqual([]);
  });
});

describe('these tests', () => {
  const toDocument = (text: string) => parseDocument('docs/made-up.md', text);
  const commands = (text: string) => toDocument(`\`\`\`sh\n${text}\n\`\`\`\n`);

  it.each([
    ['rm -rf x', 'no row for it'],
    ['npm ci && make', 'docs/made-up.md:2: make: command-table.ts has no row'],
    ['npm run absent', 'no row for it'],
    ['npm run bench -- --shrot', "Unknown option '--shrot'"],
    ['npx vitest run test/absent', 'no test has test/absent in its path'],
    ['docker run -p 8081:8082 d2-sidecar', '8082: no port of the image'],
    ['docker run d2-sidecar chek', 'did you mean check?'],
    ['docker build --build-arg COMMIT=1 .', 'no ARG COMMIT'],
    ['kubectl apply -k config/absent', 'there is no config/absent/kustomization.yaml'],
    ['kubectl exec pod -- d2-sidecar drain --wiat 5s', 'did you mean --wait?'],
    ['helm install x config/kubernetes/chart', 'the image has no name'],
    ['helm install x config/kubernetes/chart --set image.repository=r --set upstream.ulr=x', 'has no such key'],
    ['sudo systemctl enable --now d2-sidecra', 'd2-sidecra: not a unit'],
    ['sudo apt install ./build/absent.deb', 'not a package'],
    ['sudoedit /etc/absent', 'nothing installs it'],
  ])('report what is wrong without running it: %s', (text, fault) => {
    expect(check(stepsOf(commands(text))).join('\n')).toContain(fault);
  });

  it.each([
    ['d2-sidecar check --listen nowhere --config sidecar.yaml', '--listen: got "nowhere"'],
    ['d2-sidecar check --config absent.yaml', 'exit code 1'],
    ['node dist/main.js --upstrem http://127.0.0.1:8080/smartWeb', 'did you mean --upstream?'],
    ['d2-sidecar health --ready --pid 1', 'exit code 1'],
    ['kubectl exec deployment/x -c d2-sidecar -- d2-sidecar check --config absent.yaml', 'exit code 1'],
    ['echo x > /etc/motd.d2-sidecar-absent', '/etc/motd.d2-sidecar-absent is outside of the sandbox'],
  ])('report what is wrong by running it: %s', { timeout: SLOW_MS }, async (text, fault) => {
    expect(check(stepsOf(commands(text)))).toEqual([]);
    expect((await runDocument(commands(text))).join('\n')).toContain(fault);
  });

  it.runIf(has('curl'))('report a missing address', { timeout: SLOW_MS }, async () => {
    expect((await runDocument(commands('curl http://127.0.0.1:9280/absent'))).join('\n')).toContain('404');
    expect(await runDocument(commands('curl http://127.0.0.1:9280/livez'))).toEqual([]);
  });

  it('report a configuration that check refuses, and an output that differs', { timeout: SLOW_MS }, async () => {
    const configuration =
      'upstream:\n  url: http://127.0.0.1:8080/smartWeb\n  tls:\n    caFile: /etc/d2-sidecar/ca.crt\n';
    const text = `\`\`\`yaml\n${configuration}\`\`\`\n\`\`\`sh\nd2-sidecar health --monitor 127.0.0.1:9280\n\`\`\`\n\`\`\`text\nall is well\n\`\`\`\n`;
    expect(await runDocument(toDocument(text))).toEqual([
      expect.stringContaining('docs/made-up.md:2: d2-sidecar check: exit code 64: '),
      'docs/made-up.md:11: no command before it prints "all is well"',
    ]);
  });

  it('compare shapes, not numbers', () => {
    expect(
      faultOfShown('text', '127.0.0.1:9280 is alive: 200\n...', ['127.0.0.1:41234 is alive: 200\n']),
    ).toBeUndefined();
    expect(faultOfShown('text', '127.0.0.1:9280 is alive', ['127.0.0.1:41234 is ready\n'])).toContain('is alive');
    const printed = ['{"timers":{"rpc":{"count":1},"rpc.E.Boiler.Read":{"p99":2}}}'];
    expect(faultOfShown('json', '{"timers":{"rpc.E.Demo.Run":{"p99":0.1}}}', printed)).toBeUndefined();
    expect(faultOfShown('json', '{"timers":{"rpc":{"p98":0.1}}}', printed)).toContain('.timers.rpc.p98');
  });
});
