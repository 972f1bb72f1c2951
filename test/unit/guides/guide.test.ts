import { expect, it } from 'vitest';
import { parseDocument } from '../../support/docs/documents.ts';
import { elementOf, fileOf, toBlocks } from '../../support/guides/guide.ts';
import { toContent } from '../../support/guides/write-block.ts';

const blocksOf = (text: string) => toBlocks(parseDocument('docs/made-up.md', text));
const toBlock = (before: string, language: string, text: string) =>
  blocksOf(`${before}\n\n\`\`\`${language}\n${text}\n\`\`\`\n`)[0] as ReturnType<typeof blocksOf>[number];

it('a block of a guide has the heading and the paragraph above it', () => {
  const text =
    '# A\n\n## B\n\nNot this.\n\n1. Write it\n   into `x`:\n\n   ```yaml\n   a: 1\n   ```\n\n   ```sh\n   ls\n   ```\n';
  expect(blocksOf(text)).toMatchObject([
    { place: 'docs/made-up.md:11', section: 'B', before: '1. Write it\n   into `x`:', text: 'a: 1' },
    { place: 'docs/made-up.md:15', section: 'B', before: '', text: 'ls' },
  ]);
});

it.each([
  ['Its `/etc/d2-sidecar/sidecar.yaml`:', 'a: 1', '/etc/d2-sidecar/sidecar.yaml'],
  ['Say so in `sidecar.yaml`; `check` takes it:', 'a: 1', '/etc/d2-sidecar/sidecar.yaml'],
  ['A drop-in (`systemctl edit d2-sidecar`):', '[Unit]', '/etc/systemd/system/d2-sidecar.service.d/override.conf'],
  ['To `prometheus.yml` (`config/prometheus/prometheus.yml` as it is):', 'a: 1', '/etc/prometheus/prometheus.yml'],
  ['These values:', '# values.yaml; of a gateway\na: 1', 'values.yaml'],
  ['As `state.file` says:', 'a: 1', undefined],
])('a block of a guide belongs to the file that is named: %s', (before, text, file) => {
  expect(fileOf(toBlock(before, 'yaml', text))).toBe(file);
});

it.each([
  ['adds its keys', 'b:\n  host: x', 'a: 1\nb:\n  port: 2\n', 'a: 1\nb:\n  port: 2\n  host: x\n'],
  ['adds its entries', 'jobs: [b]\nrules: [c]', 'jobs: [a]\nrules:\n', 'jobs:\n  - a\n  - b\nrules:\n  - c\n'],
  [
    'that is a whole file replaces the text',
    'upstream:\n  url: http://h/a',
    'a: 1\n',
    'upstream:\n  url: http://h/a\n',
  ],
  ['makes a file that is missing', 'a: 1', undefined, 'a: 1\n'],
])('a block %s', (_, text, old, content) => {
  expect(toContent(toBlock('In `sidecar.yaml`:', 'yaml', text), old)).toBe(content);
});

it('a block of XML becomes the last child of the named element', () => {
  const block = toBlock('In `server.xml`, inside of `<Engine>`:', 'xml', '<Valve />');
  expect(elementOf(block)).toBe('Engine');
  expect(toContent(block, '<Engine><Host></Host></Engine>')).toBe('<Engine><Host></Host><Valve />\n</Engine>');
  expect(() => toContent(block, '<Server></Server>')).toThrow('docs/made-up.md:4: there is no </Engine>');
});
