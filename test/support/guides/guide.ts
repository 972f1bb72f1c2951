/** The steps of a guide: its blocks, in the order of the document, and the files that they belong to. */
import type { Document, Fence } from '../docs/documents.ts';

export interface Block extends Fence {
  readonly section: string;
  readonly before: string;
}

/** Names of files in sentences, and their paths with Debian's packages. */
const FILES: Readonly<Record<string, string>> = {
  'sidecar.yaml': '/etc/d2-sidecar/sidecar.yaml',
  'second.yaml': '/etc/d2-sidecar/second.yaml',
  'systemctl edit d2-sidecar': '/etc/systemd/system/d2-sidecar.service.d/override.conf',
  'server.xml': '/etc/tomcat10/server.xml',
  'prometheus.yml': '/etc/prometheus/prometheus.yml',
};

export function toBlocks({ text, fences }: Document): readonly Block[] {
  const lines = text.split('\n');
  return fences.map((fence) => {
    // Lines above the one that opens the block.
    const above = lines.slice(0, Number(fence.place.split(':').at(-1)) - 2);
    const heading = above.findLast((line) => /^#+ /.test(line)) ?? '';
    return { ...fence, section: heading.replace(/^#+ /, ''), before: lastParagraph(above) };
  });
}

function lastParagraph(lines: readonly string[]): string {
  const end = lines.findLastIndex((line) => line.trim() !== '') + 1;
  const start = lines.slice(0, end).findLastIndex((line) => line.trim() === '') + 1;
  const paragraph = lines.slice(start, end).join('\n');
  return paragraph.includes('```') ? '' : paragraph;
}

/** The last file that the paragraph before a block names. */
export function fileOf({ before }: Block): string | undefined {
  const named = [...before.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
  return named.map((name) => FILES[name] ?? FILES[name.split('/').at(-1) ?? '']).findLast((file) => file !== undefined);
}
