/** Writes a block of a guide into the file that the guide names, like its reader with an editor. */
import { parse, stringify } from 'yaml';
import { type Block, fileOf } from './guide.ts';
import type { Machine } from './machine.ts';

type Mapping = Readonly<Record<string, unknown>>;

/** Returns the file; undefined if the guide names none. */
export async function writeBlock(machine: Machine, block: Block): Promise<string | undefined> {
  const file = fileOf(block);
  if (file === undefined) return undefined;
  const { code, stdout } = await machine.run(`cat '${file}'`);
  await machine.write(file, toContent(block, code === 0 ? stdout : undefined));
  if (file.startsWith('/etc/systemd/')) await machine.succeed('systemctl daemon-reload');
  return file;
}

/** `old`: the existing file; undefined if there is none. */
function toContent(block: Block, old: string | undefined): string {
  if (block.language === 'xml') return withElement(block, old ?? '');
  if (block.language !== 'yaml' || old === undefined) return `${block.text}\n`;
  const written = parse(block.text) as Mapping;
  // A whole configuration.
  if ('upstream' in written) return `${block.text}\n`;
  return stringify(merged(parse(old), written));
}

function withElement(block: Block, old: string): string {
  const element = /.*`<(\w+)>`/s.exec(block.before)?.[1];
  const end = old.lastIndexOf(`</${element}>`);
  if (end === -1) throw new Error(`${block.place}: there is no </${element}> in ${fileOf(block)}`);
  return `${old.slice(0, end)}${block.text}\n${old.slice(end)}`;
}

/** Keys are added or changed, lists are extended. */
function merged(old: unknown, added: unknown): unknown {
  if (Array.isArray(old) && Array.isArray(added)) return [...old, ...added];
  if (!isMapping(old) || !isMapping(added)) return added;
  return {
    ...old,
    ...Object.fromEntries(Object.entries(added).map(([key, value]) => [key, merged(old[key], value)])),
  };
}

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
