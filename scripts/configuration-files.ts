/** Files generated from the schema of the configuration: the schema for editors, the sample file, the tables of keys. */
import { stringify } from 'yaml';
import { z } from 'zod';
import { configSchema } from '../src/config/schema.ts';
import { findShape, type Key, listKeys, metaOf, schemaAt } from '../src/config/schema-walk.ts';
import type { Generated } from './generated.ts';

export function configurationFiles(): readonly Generated[] {
  return [
    { file: 'config/schema.json', text: toJsonSchemaText() },
    { file: 'config/sidecar.yaml', text: toSampleText() },
    { file: 'docs/configuration.md', marker: 'keys', text: formatLists() },
  ];
}

/** JSON Schema (https://json-schema.org/draft/2020-12) of the configuration file, with descriptions and defaults. */
function toJsonSchemaText(): string {
  // `input`: the values in the file, not the parsed ones.
  const schema = z.toJSONSchema(configSchema, { target: 'draft-2020-12', io: 'input', override: toEditorForm });
  return `${JSON.stringify({ title: 'd2-sidecar configuration', ...schema }, null, 2)}\n`;
}

function toEditorForm({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { description, default: byDefault } = jsonSchema;
  if (description !== undefined) jsonSchema.description = toPlain(description);
  // Editors would insert an empty group.
  if (JSON.stringify(byDefault) === '{}') delete jsonSchema.default;
  delete jsonSchema.reload;
  delete jsonSchema.hide;
}

/** Markdown as plain text: no backticks, and `docs/tls.md` for a link to it. */
function toPlain(markdown: string): string {
  return markdown.replace(/\[[^\]]*\]\(([\w-]+\.md)[^)]*\)/g, 'docs/$1').replaceAll('`', '');
}

const SAMPLE_HEAD = `# yaml-language-server: $schema=./schema.json

# Configuration of d2-sidecar: every key with its default, so keep only what you change. docs/configuration.md has the details.
# Times are 500ms, 30s, 5m, 1h, or a number of seconds. Every key can be set in the environment as well, where it wins over
# this file: upstream.url is D2_SIDECAR_UPSTREAM_URL. \`d2-sidecar check --config FILE\` says whether a file can be used.
`;
const SAMPLE_WIDTH = 125;

function toSampleText(): string {
  const sections = Object.entries(findShape(configSchema) ?? {}).map(([name, part]) =>
    toSampleLines(name, part, false),
  );
  return `${SAMPLE_HEAD}\n${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

/** Keys without a default get an example as their value; without `withExamples`, that line is a comment. */
function toSampleLines(name: string, schema: z.core.$ZodType, withExamples: boolean): readonly string[] {
  const { description = '', examples } = metaOf(schema);
  const [example] = (examples ?? []) as readonly unknown[];
  const comments = wrap(toPlain(description), SAMPLE_WIDTH).map((line) => `# ${line}`);
  const parts = Object.entries(findShape(schema) ?? {});
  if (parts.length > 0) {
    const toGroup = (active: boolean) => [
      `${name}:`,
      ...parts.flatMap(([inner, part]) => toSampleLines(inner, part, active).map((line) => `  ${line}`)),
    ];
    const group = toGroup(withExamples);
    if (group.slice(1).some((line) => !line.trim().startsWith('#'))) return [...comments, ...group];
    const single = example === undefined ? [] : [`# ${name}: ${toFlow(example)}`];
    return [...comments, ...single, ...toGroup(true).map((line) => `# ${line}`)];
  }
  const byDefault = defaultOf(schema);
  if (byDefault === undefined) {
    const line = `${name}: ${toFlow(example)}`;
    // The only required key.
    return [...comments, withExamples || schema === schemaAt(['upstream', 'url']) ? line : `# ${line}`];
  }
  const shown = example === undefined ? [] : [`# For example: ${name}: ${toFlow(example)}`];
  return [...comments, ...shown, `${name}: ${toFlow(byDefault)}`];
}

function toFlow(value: unknown): string {
  const text = stringify(value, { collectionStyle: 'flow', lineWidth: 0, singleQuote: true }).trim();
  return text.replaceAll('[ ', '[').replaceAll(' ]', ']');
}

function wrap(text: string, width: number): readonly string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (longer.length <= width - 8) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function defaultOf(schema: z.core.$ZodType): unknown {
  return z.toJSONSchema(schema, { io: 'input' }).default;
}

/** One list for the keys outside sections, and one for each section. A key with `*` takes a restart. */
function formatLists(): string {
  const keys = listKeys();
  // `forwarded` is a key and a section.
  const sections = [...new Set(keys.filter(({ path }) => path.length > 1).map(({ path: [section = ''] }) => section))];
  const top = keys.filter(({ path: [name = ''] }) => !sections.includes(name));
  const lists = sections.map((name) => {
    const own = keys.filter(({ path }) => path[0] === name);
    return [`### \`${name}\``, ...toSectionTexts(own), formatList(own)].join('\n\n');
  });
  return [formatList(top), ...lists].join('\n\n');
}

/** The descriptions of a section and of its subsections. */
function toSectionTexts(keys: readonly Key[]): readonly string[] {
  const sections = new Set(keys.flatMap(({ path }) => path.map((_, index) => path.slice(0, index).join('.'))));
  return [...sections]
    .filter((name) => name !== '' && !keys.some(({ path }) => path.join('.') === name))
    .map((name) => {
      const { description = '' } = metaOf(schemaAt(name.split('.')) ?? configSchema);
      return name.includes('.') ? `\`${name}\`: ${toDocument(description)}` : toDocument(description);
    });
}

/** Keys of certificates that mean the same in another section share a line. */
function formatList(keys: readonly Key[]): string {
  const lines = new Map<string, string[]>();
  for (const key of keys) {
    const name = `\`${key.path.join('.')}\`${key.reload === 'restart' ? '\\*' : ''}`;
    const meaning = isLikeListenTls(key) ? ': as those of `listen.tls`' : toMeaning(key);
    lines.set(meaning, [...(lines.get(meaning) ?? []), name]);
  }
  return [...lines].map(([meaning, names]) => `- ${names.join(', ')}${meaning}`).join('\n');
}

function isLikeListenTls(key: Key): boolean {
  const [section = '', part, name = ''] = key.path;
  const path = ['listen', 'tls', name];
  const isThere = section !== 'listen' && part === 'tls' && schemaAt(path) !== undefined;
  return isThere && toMeaning({ ...key, path }) === toMeaning(key);
}

/** Behind the name: ` (default): What it means.` */
function toMeaning({ path }: Key): string {
  const schema = schemaAt(path) ?? configSchema;
  const byDefault = findShape(schema) === undefined ? defaultOf(schema) : undefined;
  const shown =
    byDefault === undefined ? '' : ` (\`${Array.isArray(byDefault) ? `[${byDefault.join(', ')}]` : byDefault}\`)`;
  return `${shown}: ${toDocument(metaOf(schema).description ?? '')}`;
}

/** Links in descriptions are relative to docs/; those to configuration.md become local. */
function toDocument(description: string): string {
  return description.replaceAll('(configuration.md#', '(#');
}
