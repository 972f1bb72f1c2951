import { describe, expect, it } from 'vitest';
import { parseDocument } from '../../support/docs/documents.ts';
import { elementOf, fileOf, toBlocks } from '../../support/guides/guide.ts';
import { toContent } from '../../support/guides/write-block.ts';

const toBlock = (text: string) => {
  const [block] = toBlocks(parseDocument('docs/made-up.md', text));
  if (block === undefined) throw new Error('no block');
  return block;
};

describe('a block of a guide', () => {
  it('has the heading and the paragraph above it', () => {
    const text =
      '# A\n\n## B\n\nNot this.\n\n1. Write it\n   into `x`:\n\n   ```yaml\n   a: 1\n   ```\n\n   ```sh\n   ls\n   ```\n';
    expect(toBlocks(parseDocument('docs/made-up.md', text))).toMatchObject([
      { place: 'docs/made-up.md:11', section: 'B', before: '1. Write it\n   into `x`:', text: 'a: 1' },
      { place: 'docs/made-up.md:15', section: 'B', before: '', text: 'ls' },
    ]);
  });

  it.each([
    ['Its `/etc/d2-sidecar/sidecar.yaml`:', 'a: 1', '/etc/d2-sidecar/sidecar.yaml'],
    ['Say so in `sidecar.yaml`; `check` takes it:', 'a: 1', '/etc/d2-sidecar/sidecar.yaml'],
    ['A drop-in (`systemctl edit d2-sidecar`):', '[Unit]', '/etc/systemd/system/d2-sidecar.service.d/override.conf'],
    [
      'To `prometheus.yml` (`config/prometheus/prometheus.yml` is an example):',
      'a: 1',
      '/etc/prometheus/prometheus.yml',
    ],
    ['These values:', '# values.yaml; of a gateway\na: 1', 'values.yaml'],
    ['As `state.file` says:', 'a: 1', undefined],
  ])('belongs to the file that is named: %s', (before, text, file) => {
    expect(fileOf(toBlock(`${before}\n\n\`\`\`yaml\n${text}\n\`\`\`\n`))).toBe(file);
  });
});

describe('the text to write', () => {
  const yaml = (text: string) => toBlock(`In \`sidecar.yaml\`:\n\n\`\`\`yaml\n${text}\n\`\`\`\n`);

  it('is added to the existing text', () => {
    const old = 'listen:\n  port: 8081\nmonitor:\n  port: 9280\n';
    expect(toContent(yaml('monitor:\n  host: 0.0.0.0'), old)).toBe(
      'listen:\n  port: 8081\nmonitor:\n  port: 9280\n  host: 0.0.0.0\n',
    );
    expect(toContent(yaml('jobs: [b]\nrules: [c]'), 'jobs: [a]\nrules:\n')).toBe(
      'jobs:\n  - a\n  - b\nrules:\n  - c\n',
    );
  });

  it('replaces the text if the block is a whole file, or if there is no file', () => {
    const whole = 'upstream:\n  url: http://127.0.0.1:8080/smartWeb';
    expect(toContent(yaml(whole), 'listen:\n  port: 8081\n')).toBe(`${whole}\n`);
    expect(toContent(yaml('a: 1'), undefined)).toBe('a: 1\n');
  });

  it('becomes the last child of the named element', () => {
    const block = toBlock('In `server.xml`, inside of `<Engine>`:\n\n```xml\n<Valve />\n```\n');
    expect(elementOf(block)).toBe('Engine');
    expect(toContent(block, '<Engine><Host></Host></Engine>')).toBe('<Engine><Host></Host><Valve />\n</Engine>');
    expect(() => toContent(block, '<Server></Server>')).toThrow('docs/made-up.md:4: there is no </Engine>');
  });
});
