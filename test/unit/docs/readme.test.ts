/** README.md: what its first screen must say, and what a command in it must not do. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../support/docs/documents.ts';

const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
const FIRST_SCREEN_LINES = 40;
const firstScreen = readme.split('\n').slice(0, FIRST_SCREEN_LINES).join('\n').replaceAll('\n', ' ');

describe('the first screen of README.md', () => {
  it.each([
    ['the verdict', /\*\*A verdict\.\*\*.*the server, the network or a client/],
    ['that bytes pass as they are', /\*\*Bytes pass as they are\.\*\*/],
    ['that the JVM needs no agent', /\*\*The JVM is read without an agent\*\*.*\]\(docs\/jvm\.md\)/],
    ['that numbers survive restarts', /\*\*Numbers survive restarts\*\*.*`state\.file`.*\]\(docs\/state\.md\)/],
    ['what D2000 is', /D2000 is a control system/],
    ['what an SBA RPC is', /\*SBA RPC\* is .*binary content/],
    [
      'that traffic stops where the sidecar stops',
      /Traffic stops where the sidecar stops.*\]\(docs\/reliability\.md\)/,
    ],
    ['the command of the demo', /npm ci && npm run demo/],
  ])('says %s', (_what, pattern) => {
    expect(firstScreen).toMatch(pattern);
  });

  it('leaves the tests to a later section', () => {
    expect(firstScreen).not.toContain('npm test');
    expect(readme).toMatch(/\n## Tests\n\n```sh\nnpm ci && npm test\n```\n/);
  });
});

describe('README.md', () => {
  it('warns of applications that trust loopback next to the first command for a real server, with the remedies', () => {
    const [, section = ''] = /\n## Beside a server\n([\s\S]*?)\n## /.exec(readme) ?? [];
    expect(section).toMatch(/trusts loopback/);
    expect(section).toMatch(/`RemoteCIDRValve`[\s\S]*\]\(docs\/tomcat\.md\)/);
  });

  it('has no command that leaves a credential in the shell history', () => {
    const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text = '']) => text).join('');
    expect(commands).toContain('curl');
    expect(commands).not.toMatch(/authorization|bearer|--user\b|(?:^|\s)-u\s|passwd|x-api-key|token|:\/\/[^/\s]*@/i);
  });

  it('says that no registry has the image, before the command that needs it', () => {
    const [, section = ''] = /\n## In Kubernetes\n([\s\S]*?)```sh/.exec(readme) ?? [];
    expect(section).toMatch(/No registry has\s+the image/);
  });
});
