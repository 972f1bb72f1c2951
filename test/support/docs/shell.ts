/** The part of shell syntax that documents use: lines, simple commands in them, and their words. bash runs them. */

export interface CommandLine {
  /** The typed text, continued lines joined, without a trailing comment. */
  readonly text: string;
  readonly line: number;
  readonly simple: readonly SimpleCommand[];
}

export type SimpleCommand = ReturnType<typeof toSimpleCommand>;

export function toCommandLines(block: string): readonly CommandLine[] {
  const lines: CommandLine[] = [];
  let text = '';
  let start = 0;
  let end: string | undefined;
  block.split('\n').forEach((raw, index) => {
    if (end !== undefined) {
      text += `\n${raw}`;
      if (raw.trim() === end) end = undefined;
    } else {
      const line = withoutComment(raw);
      if (text === '') start = index;
      text += text === '' ? line.trim() : line.trimStart();
      if (text.endsWith('\\')) {
        text = text.slice(0, -1);
        return;
      }
      end = /(?<!<)<<(?!<)-?\s*['"]?(\w+)['"]?/.exec(text)?.[1];
    }
    if (end !== undefined || text.trim() === '') return;
    lines.push({ text: text.trimEnd(), line: start, simple: toSimpleCommands(text.trimEnd()) });
    text = '';
  });
  if (text.trim() !== '') throw new Error(`a command that does not end: ${text}`);
  return lines;
}

const PIECE = /"(?:[^"\\]|\\.)*"|'[^']*'|\$\([^)]*\)|\\./gs;

function withoutComment(line: string): string {
  const hidden = line.replace(PIECE, (piece) => '_'.repeat(piece.length));
  const at = /(?:^|\s)#/.exec(hidden)?.index;
  return (at === undefined ? line : line.slice(0, at)).trimEnd();
}

function toSimpleCommands(line: string): readonly SimpleCommand[] {
  const [first = ''] = line.split('\n');
  const hidden = first.replace(PIECE, (piece) => '_'.repeat(piece.length));
  const commands: SimpleCommand[] = [];
  let from = 0;
  for (const { 0: mark, index } of [...hidden.matchAll(/&&|\|\||[;|]/g), { 0: '', index: first.length }]) {
    const text = first.slice(from, index).trim();
    if (text !== '') commands.push(toSimpleCommand(text));
    from = index + mark.length;
  }
  return commands;
}

/** Its words without leading variables, redirections and quotes; `$(...)` is one word. */
function toSimpleCommand(text: string) {
  const bare = text.match(/(?:"(?:[^"\\]|\\.)*"|'[^']*'|\$\([^)]*\)|\\.|[^\s])+/gs) ?? [];
  const words: string[] = [];
  const variables: string[] = [];
  for (let i = 0; i < bare.length; i += 1) {
    const word = bare[i] ?? '';
    const [redirection] = /^\d?(?:>>?|<<<|<<?-?)(?:&\d)?/.exec(word) ?? [];
    // The file may be a separate word.
    if (redirection !== undefined) i += redirection === word && !word.includes('&') ? 1 : 0;
    else if (words.length === 0 && /^[A-Za-z_]\w*=/.test(word)) variables.push(word);
    else if (word !== '&') words.push(unquote(word));
  }
  return { text, words, variables };
}

function unquote(word: string): string {
  return word.replace(
    /"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/gs,
    (_, double?: string, single?: string, escaped?: string) =>
      double !== undefined ? double.replace(/\\(["\\$`])/g, '$1') : (single ?? escaped ?? ''),
  );
}
